#include "plan/zero.h"

#include <fmt/core.h>

#include <string>
#include <utility>

namespace trainfit::plan {
namespace {

using spec::Dtype;
using spec::Offload;
using spec::Sharding;

// deepspeed/runtime/zero/config.py (0.19.8), where transformers fills in nothing of its own.
constexpr std::int64_t kMaxReuseDistance = 1'000'000'000;
constexpr std::int64_t kSubGroup = 1'000'000'000;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 46;

// transformers/integrations/deepspeed.py trainer_config_finalize: the sizes written as "auto".
constexpr const char* kAutoSource =
    "transformers/integrations/deepspeed.py: \"auto\" sizes follow the hidden size";

class ZeroResolver {
 public:
  ZeroResolver(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors)
      : zero_(recipe.zero),
        loop_is_given_(recipe.optimizer_loop.has_value()),
        plan_(plan),
        errors_(errors) {}

  void Run() {
    CheckBase();
    Types();
    Loop();
    Sizes();
    Offloading();
  }

 private:
  // zero/partition_parameters.py cuts parameters: words of GPTQ and AWQ are buffers, and int8 ones
  // carry scales that no gather brings back. Neither has a lowering.
  void CheckBase() {
    const bool is_blockwise = plan_.quantization == spec::Quantization::kNf4 ||
                              plan_.quantization == spec::Quantization::kFp4;
    const bool is_cut = plan_.parallel.sharding == Sharding::kZero3;
    if (plan_.method != spec::Method::kQlora || is_blockwise || !is_cut) return;
    errors_.push_back(Error("not-simulated",
                            fmt::format("{} weights under zero3 cannot be simulated yet",
                                        spec::Name(plan_.quantization)),
                            "--sharding zero2"));
  }

  // engine.py _configure_distributed_model: with bf16 or fp16 enabled the whole module is cast to
  // it; no autocast is entered, and updates go to fp32 copies of the partition.
  void Types() {
    plan_.autocast = false;
    if (plan_.compute_dtype == Dtype::kFp32) return;
    plan_.weight_dtype = plan_.compute_dtype;
    plan_.adapter_dtype = plan_.compute_dtype;
    plan_.kbit_preparation = false;
  }

  // engine.py _configure_basic_optimizer: an "optimizer" section in the configuration, as in the
  // examples of transformers' documentation, makes DeepSpeed's FusedAdam.
  void Loop() {
    if (loop_is_given_ || plan_.optimizer != spec::Optimizer::kAdamW) return;
    plan_.optimizer_loop = spec::OptimizerLoop::kFused;
  }

  std::int64_t Size(const std::optional<std::int64_t>& given, std::int64_t fallback,
                    const char* key) {
    const std::int64_t value = given.value_or(fallback);
    if (value >= 0 && value <= kLargestSize) return value;
    errors_.push_back(
        Error("size-out-of-range",
              fmt::format("{} is {}; it must be between 0 and {}", key, value, kLargestSize)));
    return 0;
  }

  void Sizes() {
    const std::int64_t hidden = plan_.model->Text().hidden;
    ZeroPlan& zero = plan_.zero;
    zero.reduce_bucket = Size(zero_.reduce_bucket_size, hidden * hidden, "reduce_bucket_size");
    zero.prefetch_bucket =
        Size(zero_.prefetch_bucket_size, hidden * hidden / 10 * 9, "stage3_prefetch_bucket_size");
    zero.persistence_threshold =
        Size(zero_.param_persistence_threshold, 10 * hidden, "stage3_param_persistence_threshold");
    zero.max_reuse_distance =
        Size(zero_.max_reuse_distance, kMaxReuseDistance, "stage3_max_reuse_distance");
    zero.sub_group = Size(zero_.sub_group_size, kSubGroup, "sub_group_size");
    zero.overlap_comm = zero_.overlap_comm.value_or(plan_.parallel.sharding == Sharding::kZero3);
    zero.pin_memory = zero_.pin_memory.value_or(true);
    zero.init_partitioned = zero_.init_partitioned.value_or(true);
    if (zero_.reduce_bucket_size.has_value()) return;
    plan_.assumptions.push_back({"ZeRO's buckets",
                                 fmt::format("{} elements (hidden size squared)", hidden * hidden),
                                 Basis::kSource, kAutoSource});
  }

  void Offloading() {
    ZeroPlan& zero = plan_.zero;
    zero.offload_optimizer = zero_.offload_optimizer.value_or(Offload::kNone);
    zero.offload_param = zero_.offload_param.value_or(Offload::kNone);
    const bool is_stage3 = plan_.parallel.sharding == Sharding::kZero3;
    const std::string stage(spec::Name(plan_.parallel.sharding));
    if (zero.offload_param != Offload::kNone && !is_stage3) {
      errors_.push_back(Error("contradiction",
                              "parameters are offloaded by ZeRO-3 alone, but sharding is " + stage,
                              "--sharding zero3"));
    }
    if (zero.offload_optimizer == Offload::kNvme && !is_stage3) {
      errors_.push_back(
          Error("contradiction",
                "optimizer states go to NVMe with ZeRO-3 alone, but sharding is " + stage,
                "--sharding zero3"));
    }
    const bool is_adam = plan_.optimizer == spec::Optimizer::kAdamW;
    if (zero.offload_optimizer != Offload::kNone && !is_adam) {
      // engine.py _do_sanity_check / zero_force_ds_cpu_optimizer: DeepSpeed's CPU Adam.
      errors_.push_back(Error("contradiction",
                              fmt::format("an offloaded optimizer is DeepSpeed's CPU Adam, but the "
                                          "optimizer is {}",
                                          Name(plan_.optimizer)),
                              "--optimizer adamw"));
    }
  }

  const spec::ZeroRecipe& zero_;
  bool loop_is_given_;
  Plan& plan_;
  Diagnostics& errors_;
};

}  // namespace

void ResolveZero(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  ZeroResolver(recipe, plan, errors).Run();
}

}  // namespace trainfit::plan
