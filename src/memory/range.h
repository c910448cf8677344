// Ranges: what a number on a user's screen will lie between, nine times out of ten.
//
// Live bytes follow from shapes and are nearly exact; reserved bytes come from replaying the
// allocator; nvidia-smi adds what no allocator knows. Each step has its own width, all of them in
// one table (`Widths`), each with the observation it comes from, so that calibration against
// measured runs changes that table and nothing else. Independent widths are added in quadrature.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/basis.h"
#include "base/units.h"

namespace trainfit::memory {

// A point and its 90 % range, low ≤ point ≤ high.
struct Range {
  Bytes low;
  Bytes point;
  Bytes high;
  bool operator==(const Range&) const = default;
};

// A fixed amount with the reason for it.
struct OverheadRow {
  std::string_view name;  // "CUDA context"
  Range bytes;
  Basis basis = Basis::kAssumed;
  std::string_view source;
  bool operator==(const OverheadRow&) const = default;
};

// Why a number is uncertain.
enum class Term {
  kAllocated,           // kernels' own workspaces and small tensors that a program leaves out
  kAllocatedParallel,   // the same over several ranks: padding, buckets, late frees between streams
  kAllocatedCompiled,   // of a torch.compile graph: Inductor decides which buffers meet
  kReservedReplay,      // the replay against a real run of fixed shapes, native segments
  kReservedExpandable,  // … with expandable_segments:True
  kReservedRatio,       // reserved without a replay, as a multiple of allocated
  kReservedVarying,     // batches of different length: segments of past shapes stay behind
};
inline constexpr std::size_t kTermCount = 7;

// Upwards, reserved bytes grow by up to this share of the logits that are live at the peak: when a
// block of that size was split for something small, the next one of its kind is new.
inline constexpr double kLogitsLeftBehind = 0.5;

// Shares of the number the term is about: from point × (1 − below) to point × (1 + above).
struct Width {
  Term term = Term::kAllocated;
  double ratio = 1;  // the point is moved by this factor
  double below = 0;
  double above = 0;
  Basis basis = Basis::kAssumed;
  std::string_view source;
};
std::span<const Width, kTermCount> Widths();  // ordered like Term
const Width& WidthOf(Term term);

// a + b of independent terms: points add, distances to the ends add in quadrature.
Range AddIndependent(const Range& a, const Range& b);
// `point` with the width of a term.
Range Widen(Bytes point, Term term);

// What the ranges of one phase are made from.
struct RangeInputs {
  Bytes live_peak = {};                                  // summary or walk
  std::optional<Bytes> replay_allocated = std::nullopt;  // GpuReplay::allocated_peak
  std::optional<Bytes> replay_reserved = std::nullopt;   // GpuReplay::reserved_peak
  // Reserved as a multiple of allocated where there is no replay; unset: the table's.
  std::optional<double> reserved_ratio;
  Bytes logits = {};  // of the live peak: as wide as the vocabulary
  bool expandable_segments = false;
  bool varying_lengths = false;  // unpacked, padded batches
  bool several_ranks = false;
  bool compiled = false;  // part of what is live belongs to a torch.compile graph
  std::span<const OverheadRow> outside = {};  // context, NCCL: what torch does not count
};

// What a torch user can read off one GPU; allocated ≤ reserved ≤ nvidia_smi at each of the ends.
struct GpuRanges {
  Range allocated;   // torch.cuda.max_memory_allocated
  Range reserved;    // torch.cuda.max_memory_reserved
  Range nvidia_smi;  // of this process, its share of the card
};
GpuRanges MakeGpuRanges(const RangeInputs& inputs);

}  // namespace trainfit::memory
