#include "verdict/capacity.h"

#include <algorithm>
#include <iterator>

namespace trainfit::verdict {
namespace {

memory::Link LinkOf(const spec::Machine& machine) {
  if (machine.nodes > 1) return memory::Link::kNetwork;
  if (machine.gpu.nvlink_bidirectional.has_value()) return memory::Link::kNvlink;
  return machine.gpu.supports_peer_access ? memory::Link::kPciePeer : memory::Link::kPcieHost;
}

bool HasLinearBias(const spec::ModelSpec& model) {
  for (const spec::LayerKind& kind : model.Text().kinds) {
    for (const spec::TensorSpec& tensor : kind.tensors) {
      const bool is_norm =
          tensor.part == spec::Part::kInputNorm || tensor.part == spec::Part::kPostAttentionNorm ||
          tensor.part == spec::Part::kPreMlpNorm || tensor.part == spec::Part::kPostMlpNorm;
      if (tensor.is_bias && !is_norm) return true;
    }
  }
  return false;
}

bool HasExperts(const spec::ModelSpec& model) {
  const auto& kinds = model.Text().kinds;
  return std::any_of(kinds.begin(), kinds.end(), [](const spec::LayerKind& kind) {
    return kind.mlp.kind == spec::MlpKind::kMoe;
  });
}

// Groups of more than one rank; each gets its buffers when it is first used.
std::vector<memory::Communicator> GroupsOf(const plan::Plan& plan, memory::Link link) {
  using memory::Traffic;
  const plan::Parallel& parallel = plan.parallel;
  const memory::Communicator all[] = {
      {"data parallel", parallel.data, link, Traffic::kCollective, false},
      {"tensor parallel", parallel.tensor, link, Traffic::kCollective, false},
      {"pipeline", parallel.pipeline, link, Traffic::kPointToPoint, false},
      {"context parallel", parallel.context, link, Traffic::kPointToPoint, false},
      {"expert parallel", parallel.expert, link, Traffic::kAllToAll, false}};
  std::vector<memory::Communicator> groups;
  std::copy_if(std::begin(all), std::end(all), std::back_inserter(groups),
               [](const memory::Communicator& group) { return group.ranks > 1; });
  return groups;
}

}  // namespace

std::string_view Name(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "fits";
    case Fit::kTight:
      return "tight";
    case Fit::kDoesNotFit:
      return "does_not_fit";
    case Fit::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Fixed FixedBytes(const plan::Plan& plan, const spec::Machine& machine) {
  Fixed fixed;
  fixed.outside.push_back(memory::ContextOf(machine.gpu));
  const std::vector<memory::Communicator> groups = GroupsOf(plan, LinkOf(machine));
  if (!groups.empty()) fixed.outside.push_back(memory::NcclOf(machine.gpu, groups));
  memory::CublasUse use;
  use.torch = plan.facts.stack().Of("torch");
  use.linear_bias = HasLinearBias(*plan.model);
  if (plan.facts.Is(plan::Fact::kModelParallel)) {
    use.transformer_engine = plan.facts.Is(plan::Fact::kTransformerEngine);
    // transformer_engine/common/util/multi_stream.cpp: experts' products run on four streams.
    constexpr std::int64_t kGroupedStreams = 4;
    if (HasExperts(*plan.model)) use.grouped_streams = kGroupedStreams;
  }
  fixed.held = memory::CublasWorkspaces(machine.gpu, use);
  return fixed;
}

Bytes GpuCapacity(const spec::Machine& machine) {
  return memory::UsableOf(machine.gpu).bytes.point;
}

Estimate NeededBytes(const memory::GpuRanges& ranges,
                     const std::vector<memory::OverheadRow>& outside, bool can_shrink) {
  const memory::Range& shown = ranges.nvidia_smi;
  if (!can_shrink) return {shown.point, shown.low, shown.high};
  memory::Range least = ranges.allocated;
  for (const memory::OverheadRow& row : outside) least = memory::AddIndependent(least, row.bytes);
  return {ranges.nvidia_smi.point, std::min(least.low, ranges.nvidia_smi.point),
          ranges.nvidia_smi.high};
}

Fit Compare(const Estimate& need, Bytes capacity) {
  if (capacity == Bytes()) return Fit::kUnknown;
  if (need.high <= capacity) return Fit::kFits;
  return need.low > capacity ? Fit::kDoesNotFit : Fit::kTight;
}

}  // namespace trainfit::verdict
