// Settings of DeepSpeed's ZeRO, called as its configuration file calls them. Absent: the default of
// the framework that writes that file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainfit::spec {

// Where states or parameters stay while nothing works on them.
enum class Offload : std::uint8_t { kNone, kCpu, kNvme };
std::string_view Name(Offload offload);  // "none", "cpu", "nvme"

// deepspeed/runtime/zero/config.py. Sizes are elements, not bytes.
struct ZeroRecipe {
  std::optional<std::int64_t> reduce_bucket_size;
  std::optional<bool> overlap_comm;
  std::optional<std::int64_t> prefetch_bucket_size;
  std::optional<std::int64_t> param_persistence_threshold;
  std::optional<std::int64_t> max_reuse_distance;
  std::optional<std::int64_t> sub_group_size;
  std::optional<bool> pin_memory;
  std::optional<bool> init_partitioned;  // zero.Init around from_pretrained
  std::optional<Offload> offload_optimizer;
  std::optional<Offload> offload_param;  // under FSDP: CPUOffload, of gradients and states as well
  bool operator==(const ZeroRecipe&) const = default;
};

}  // namespace trainfit::spec
