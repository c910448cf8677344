#include "verdict/capacity.h"

#include <algorithm>

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
  if (plan.parallel.data > 1) {
    const memory::Communicator group{"data parallel", plan.parallel.data, LinkOf(machine),
                                     memory::Traffic::kCollective, false};
    fixed.outside.push_back(memory::NcclOf(machine.gpu, {&group, 1}));
  }
  memory::CublasUse use;
  use.torch = plan.facts.stack().Of("torch");
  use.linear_bias = HasLinearBias(*plan.model);
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
