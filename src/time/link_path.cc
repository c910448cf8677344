#include "time/link_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace trainfit::time {
namespace {

using program::Group;

// Part of the nominal rate that large NCCL messages reach, by kind: medians of data/links, where
// both are known. Sockets: a few threads copy through the kernel.
double UsualShare(std::string_view kind) {
  struct Row {
    std::string_view kind;
    double share;
  };
  constexpr Row kRows[] = {{"nvlink", 0.78},     {"xgmi", 0.70}, {"pcie", 0.64},
                           {"infiniband", 0.88}, {"roce", 0.82}, {"efa", 0.92},
                           {"slingshot", 0.85},  {"tcpx", 0.70}, {"ethernet", 0.40}};
  for (const Row& row : kRows) {
    if (row.kind == kind) return row.share;
  }
  return 0.7;
}

// How many times the rates of `network` the GPUs of one island have, `gpus` of them.
double UnitsOf(const spec::Link& network, const spec::Machine& machine, std::int64_t gpus) {
  if (network.per != "node" && network.per != "port") return static_cast<double>(gpus);
  const std::int64_t of_node = network.per == "port" ? machine.fabric.ports_per_node : 1;
  return static_cast<double>(of_node * gpus) / static_cast<double>(machine.gpus_per_node);
}

Diagnostic Unknown(std::string_view where, const spec::Machine& machine) {
  return Error("unknown-link",
               fmt::format("nothing is known about the link between {} of {}", where,
                           machine.written_as.empty() ? machine.gpu.id : machine.written_as),
               "a machine of the catalogue (trainfit instances), or a file that names its links");
}

}  // namespace

Axis AxisOf(Group group, const plan::Parallel& parallel) {
  const std::int64_t replicas = parallel.context * parallel.data;
  switch (group) {
    case Group::kNone:
      return {1, 1};
    case Group::kTensor:
      return {parallel.tensor, 1};
    case Group::kContext:
      return {parallel.context, parallel.tensor};
    case Group::kData:
      return {replicas, parallel.tensor};
    case Group::kPipeline:
      return {parallel.pipeline, parallel.tensor * replicas};
    case Group::kExpert:
      return {parallel.expert, parallel.expert_tensor};
    case Group::kExpertData:
      return {std::max<std::int64_t>(1, parallel.ExpertData()),
              parallel.expert_tensor * parallel.expert};
    case Group::kWorld:
      return {parallel.tensor * replicas * parallel.pipeline, 1};
  }
  return {1, 1};
}

BytesPerSecond AchievedBus(const spec::Link& link) {
  return link.all_reduce_bus.value_or(link.one_way * UsualShare(link.kind));
}

Expected<LinkPaths> PathsOf(const spec::Machine& machine, const plan::Parallel& parallel) {
  const spec::Fabric& fabric = machine.fabric;
  const std::int64_t joined = std::max<std::int64_t>(1, fabric.joined_gpus);
  const std::int64_t gpus = std::max(machine.gpus_per_node, joined);  // of an island
  LinkPaths paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Axis axis = AxisOf(static_cast<Group>(i), parallel);
    LinkPath& path = paths[i];
    path.ranks = axis.size;
    if (axis.size <= 1) continue;
    const auto members = [&](std::int64_t among) {
      return std::clamp<std::int64_t>(among / axis.stride, 1, axis.size);
    };
    const std::int64_t together = members(gpus);
    if (together > 1) {
      // A ring that leaves a bridge runs over PCIe as a whole.
      const std::optional<spec::Link>& inside =
          members(joined) < together ? fabric.host : fabric.gpu_to_gpu;
      if (!inside) return Fail(Unknown("the GPUs", machine));
      path.inside = &*inside;
    }
    path.islands = CeilDiv(axis.size, together);
    if (path.islands == 1) continue;
    if (!fabric.between_nodes) return Fail(Unknown("the nodes", machine));
    const double share = static_cast<double>(together) / static_cast<double>(gpus);
    const double units = UnitsOf(*fabric.between_nodes, machine, gpus) * share;
    path.between = &*fabric.between_nodes;
    path.between_nominal = path.between->one_way * units;
    path.between_achieved = AchievedBus(*path.between) * units;
  }
  return paths;
}

}  // namespace trainfit::time
