#include "memory/range.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace trainfit::memory {
namespace {

// The one table that calibration changes. Shares, 90 % ranges.
constexpr std::array<Width, kTermCount> kWidths = {{
    {Term::kAllocated, 1.0, 0.040, 0.080, Basis::kMeasured,
     "residuals of the published measurements that docs/accuracy.md compares: 85 % of those that "
     "state exactly what was run lie within; half within 1 %. Upwards further than down: attention "
     "backward and reductions take workspaces that no formula names, and runs hold references that "
     "their source does not show"},
    {Term::kAllocatedParallel, 1.0, 0.040, 0.080, Basis::kMeasured,
     "as on one GPU; Megatron-LM golden values of gpt3_7b_tp4: static 0.016 %, activations -0.4 % "
     "(H100) to -3.3 % (A100), the rest unexplained; FSDP rows hold gathered units longer"},
    {Term::kAllocatedCompiled, 1.0, 0.010, 0.900, Basis::kMeasured,
     "Liger-Kernel's chunked preference and distillation losses (torch.compile around the chunk): "
     "1.4-2.0 times what the chunk's tensors need, 1.0 where the compiled part is one chunk's "
     "function alone (GRPO)"},
    {Term::kReservedReplay, 1.0, 0.030, 0.070, Basis::kMeasured,
     "the rules are those of the source; order and lifetimes of small tensors differ, which costs "
     "or "
     "saves a few segments: residuals of docs/accuracy.md. SimuMax B200 rows: reserved/allocated "
     "1.03-1.09, 1.05 in the "
     "middle"},
    {Term::kReservedExpandable, 1.0, 0.020, 0.040, Basis::kAssumed,
     "one growing segment: what is left over is a page of 20 MiB for each stream and holes between "
     "lifetimes; typical reserved/allocated 1.01-1.03"},
    {Term::kReservedRatio, 1.04, 0.030, 0.070, Basis::kMeasured,
     "SimuMax B200 rows (13 runs of fixed shapes): reserved/allocated 1.03-1.09, median 1.05; "
     "fixed shapes elsewhere 1.02-1.05"},
    {Term::kReservedVarying, 1.0, 0.060, 0.200, Basis::kMeasured,
     "padded batches without expandable segments: reserved/allocated 1.1-1.3, and the longest "
     "batch is often shorter than what is allowed (PEFT's method comparison: 4-6 % below); "
     "fms-acceleration "
     "nvidia-smi/allocated has a median of 1.29 where packed runs lie near 1.22"},
}};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kTermCount; ++i) {
    if (kWidths[i].term != static_cast<Term>(i)) return false;
  }
  return true;
}
static_assert(InOrder(), "a row a term, in their order");

double Real(Bytes bytes) { return static_cast<double>(bytes.value()); }
Bytes Rounded(double bytes) { return Bytes(std::llround(bytes)); }

// A range around `point` whose distances are those of `a` and of a further share, in quadrature.
Range Around(Bytes point, const Range& a, const Width& width) {
  const double below = std::hypot(Real(a.point - a.low), width.below * Real(point));
  const double above = std::hypot(Real(a.high - a.point), width.above * Real(point));
  return {Rounded(std::max(0.0, Real(point) - below)), point, Rounded(Real(point) + above)};
}

// No end of a range may lie below the same end of what is contained in it.
void RaiseTo(Range& range, const Range& contained) {
  range.low = std::max(range.low, contained.low);
  range.point = std::max(range.point, contained.point);
  range.high = std::max(range.high, contained.high);
}

Range ReservedOf(const RangeInputs& inputs, const Range& allocated) {
  const bool replayed = inputs.replay_reserved.has_value();
  Term term = Term::kReservedRatio;
  if (replayed) {
    term = inputs.expandable_segments ? Term::kReservedExpandable : Term::kReservedReplay;
  }
  const Bytes point =
      replayed
          ? *inputs.replay_reserved
          : Rounded(inputs.reserved_ratio.value_or(WidthOf(term).ratio) * Real(allocated.point));
  Range reserved = Around(point, allocated, WidthOf(term));
  if (!inputs.expandable_segments) {
    // fms-acceleration, packed batches of fixed length: one 16-bit logits tensor more than the
    // replay in half of the rows with materialized logits, up to half of all logits in others.
    const double above =
        std::hypot(Real(reserved.high - reserved.point), kLogitsLeftBehind * Real(inputs.logits));
    reserved.high = reserved.point + Rounded(above);
  }
  if (inputs.varying_lengths && !inputs.expandable_segments) {
    reserved = Around(point, reserved, WidthOf(Term::kReservedVarying));
  }
  RaiseTo(reserved, allocated);
  return reserved;
}

}  // namespace

std::span<const Width, kTermCount> Widths() { return kWidths; }

const Width& WidthOf(Term term) { return kWidths[static_cast<std::size_t>(term)]; }

Range AddIndependent(const Range& a, const Range& b) {
  const Bytes point = a.point + b.point;
  const double below = std::hypot(Real(a.point - a.low), Real(b.point - b.low));
  const double above = std::hypot(Real(a.high - a.point), Real(b.high - b.point));
  return {point - Rounded(below), point, point + Rounded(above)};
}

Range Widen(Bytes point, Term term) {
  const Width& width = WidthOf(term);
  const double moved = width.ratio * Real(point);
  return {Rounded(moved * (1 - width.below)), Rounded(moved), Rounded(moved * (1 + width.above))};
}

GpuRanges MakeGpuRanges(const RangeInputs& inputs) {
  GpuRanges ranges;
  // A replay that ran out of memory saw less than what is live; otherwise it never counts fewer.
  const Bytes allocated =
      std::max(inputs.live_peak, inputs.replay_allocated.value_or(inputs.live_peak));
  Term term = inputs.several_ranks ? Term::kAllocatedParallel : Term::kAllocated;
  if (inputs.compiled) term = Term::kAllocatedCompiled;
  ranges.allocated = Widen(allocated, term);
  ranges.reserved = ReservedOf(inputs, ranges.allocated);
  ranges.nvidia_smi = ranges.reserved;
  for (const OverheadRow& row : inputs.outside) {
    ranges.nvidia_smi = AddIndependent(ranges.nvidia_smi, row.bytes);
  }
  RaiseTo(ranges.nvidia_smi, ranges.reserved);
  return ranges;
}

}  // namespace trainfit::memory
