// Clusters that the tests of this folder share.
#pragma once

#include <string>

#include "spec/machine.h"

namespace trainfit::time {

inline spec::Link MakeLink(std::string id, std::string kind, std::string scope, std::string per,
                           double one_way) {
  spec::Link link;
  link.id = std::move(id);
  link.kind = std::move(kind);
  link.scope = std::move(scope);
  link.per = std::move(per);
  link.one_way = BytesPerSecond(one_way);
  return link;
}

// Nodes of A100 SXM on NVLink 3 switches, with an InfiniBand HDR port for each GPU.
inline spec::Machine A100Nodes(std::int64_t nodes, std::int64_t gpus_per_node) {
  spec::Machine machine;
  machine.gpu.id = "a100-sxm-80";
  machine.nodes = nodes;
  machine.gpus_per_node = gpus_per_node;
  machine.fabric.gpu_to_gpu = MakeLink("nvlink3", "nvlink", "node", "gpu", 300e9);
  machine.fabric.gpu_to_gpu->all_reduce_bus = BytesPerSecond(235e9);
  machine.fabric.gpu_to_gpu->copy = BytesPerSecond(274e9);
  machine.fabric.joined_gpus = gpus_per_node;
  machine.fabric.host = MakeLink("pcie-gen4-x16", "pcie", "node and host", "gpu", 31.5e9);
  machine.fabric.host->host_copy = BytesPerSecond(25e9);
  machine.fabric.between_nodes = MakeLink("ib-hdr", "infiniband", "between nodes", "port", 25e9);
  machine.fabric.between_nodes->all_reduce_bus = BytesPerSecond(22e9);
  machine.fabric.ports_per_node = gpus_per_node;
  return machine;
}

}  // namespace trainfit::time
