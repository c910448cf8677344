// A link or network between GPUs, hosts or machines. Absent means unknown, never zero.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/basis.h"
#include "base/units.h"

namespace trainfit::spec {

struct Link {
  std::string id;                      // "nvlink4", "ib-ndr"
  std::string name;                    // "NVLink 4 through NVSwitch (H100, H200, GH200)"
  std::string kind;                    // pcie, nvlink, xgmi, infiniband, efa, ethernet, …
  std::string scope;                   // what it joins: host, pair, node, rack, "between nodes"
  std::string per;                     // what has the rates: gpu, chip, port, node
  BytesPerSecond one_way;              // nominal rate in one direction
  std::optional<BytesPerSecond> copy;  // achieved: one GPU to another, one way
  std::optional<BytesPerSecond> host_copy;       // achieved: to or from pinned host memory, one way
  std::optional<BytesPerSecond> all_reduce_bus;  // achieved: NCCL bus bandwidth, large messages
  std::string all_reduce_condition;              // of what that was measured
  std::optional<Seconds> latency;                // small messages
  Basis achieved_basis = Basis::kAssumed;
  std::string confidence;  // high, medium, low
  std::vector<std::string> sources;
};

}  // namespace trainfit::spec
