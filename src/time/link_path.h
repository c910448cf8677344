// Where the ranks of a group lie in a cluster, and which links join them.
#pragma once

#include <array>
#include <cstdint>

#include "base/expected.h"
#include "base/units.h"
#include "plan/plan.h"
#include "program/event.h"
#include "spec/link.h"
#include "spec/machine.h"

namespace trainfit::time {

// Ranks first, first + stride, …, `size` of them; ranks are numbered through the nodes in order.
struct Axis {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

// Megatron's order of ranks, tensor innermost, then context, data, pipeline outermost
// (megatron/core/parallel_state.py initialize_model_parallel, order "tp-cp-ep-dp-pp"); experts take
// the ranks of one stage in the order of their own tensor parallelism, expert, replicas. Without
// model parallelism these are all ranks. Gradients are also summed over context
// (get_data_parallel_group(with_context_parallel=True)), so that kData has both.
Axis AxisOf(program::Group group, const plan::Parallel& parallel);

// What one exchange of a group goes over. An island is a set of GPUs that one link joins: those of
// a bridge, a node, a rack of NVLink switches.
struct LinkPath {
  std::int64_t ranks = 1;
  std::int64_t islands = 1;             // that the group spans
  const spec::Link* inside = nullptr;   // between ranks of one island; null: each is alone in its
  const spec::Link* between = nullptr;  // between islands; null: there is but one
  // Rates, one way, of what the group's ranks of one island together have of `between`: groups
  // beside it use the same ports at the same time, and get equal shares.
  BytesPerSecond between_nominal;
  BytesPerSecond between_achieved;

  std::int64_t RanksInside() const { return (ranks + islands - 1) / islands; }
};

// Achieved bus bandwidth of large messages: measured where the catalogue says so, else the share of
// the nominal rate that is usual for its kind.
BytesPerSecond AchievedBus(const spec::Link& link);

inline constexpr int kGroupCount = 8;
using LinkPaths = std::array<LinkPath, kGroupCount>;

// The paths of all groups. Pointers refer to `machine`, which must outlive them.
// Errors: a group of several ranks crosses a link that is not known.
Expected<LinkPaths> PathsOf(const spec::Machine& machine, const plan::Parallel& parallel);

}  // namespace trainfit::time
