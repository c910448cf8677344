// What lies on a GPU besides the program, what there is of it, and how the two compare.
#pragma once

#include <vector>

#include "memory/overhead.h"
#include "plan/plan.h"
#include "spec/machine.h"
#include "verdict/verdict.h"

namespace trainfit::verdict {

// Fixed bytes of one rank: outside the allocator (CUDA context, NCCL), and held inside it (cuBLAS).
struct Fixed {
  std::vector<memory::OverheadRow> outside;
  std::vector<memory::HeldAllocation> held;
};
Fixed FixedBytes(const plan::Plan& plan, const spec::Machine& machine);

// What the process may fill.
Bytes GpuCapacity(const spec::Machine& machine);

// Segments that the allocator caches without using can be given back before it fails, so the least
// that a card must have is what is allocated plus what lies outside; the most is nvidia-smi's view.
// `can_shrink`: false when the allocator, replayed on this card, failed even after giving back.
Estimate NeededBytes(const memory::GpuRanges& ranges,
                     const std::vector<memory::OverheadRow>& outside, bool can_shrink);

Fit Compare(const Estimate& need, Bytes capacity);

}  // namespace trainfit::verdict
