// Streams in (max, +) algebra: time composes without simulating it.
//
// Each stream, and the host that issues to them, is at some moment. A kernel moves its stream on by
// its duration, but not before the host issued it; a wait lifts one stream to another. All of these
// are linear over (max, +), so what any segment does is a matrix: entry (i, j) is the longest path
// from stream j at the segment's beginning to stream i at its end. A sequence is a product, a
// repeat a power by squaring. With every path goes what it consists of, by kernel class and bound.
// (F. Baccelli et al., Synchronization and Linearity, 1992, chapter 2.)
#pragma once

#include <array>

#include "base/units.h"
#include "program/event.h"
#include "program/segment.h"
#include "time/kernel.h"

namespace trainfit::time {

inline constexpr int kHostLane = program::kStreamCount;
inline constexpr int kLaneCount = program::kStreamCount + 1;

// Seconds by what they are spent on. Both arrays sum to the same total. The last class is the host
// issuing kernels.
inline constexpr int kHostClass = program::kKernelClassCount;
struct Spent {
  std::array<double, program::kKernelClassCount + 1> by_class = {};
  std::array<double, kBoundCount> by_bound = {};

  void Add(int kernel_class, Bound bound, double seconds) {
    by_class[static_cast<std::size_t>(kernel_class)] += seconds;
    by_bound[static_cast<std::size_t>(bound)] += seconds;
  }
  Spent& operator+=(const Spent& other);
};

struct Path {
  double seconds = 0;  // negative: there is no such path
  Spent spent;
};

struct Timeline {
  std::array<std::array<Path, kLaneCount>, kLaneCount> paths;  // [end][beginning]
  std::array<Spent, kLaneCount> work;                          // busy time of each stream
  double model_flops = 0;     // of the step as the model defines it: nothing counted twice
  double hardware_flops = 0;  // what is computed, recomputation included

  static Timeline Identity();
  // One more kernel at the end. `issue`: what the host needs for it.
  void Run(program::Stream stream, int kernel_class, KernelTime time, Seconds issue);
  // `stream` goes on when `awaited` is done.
  void Wait(int lane, int awaited);
};
// First `a`, then `b`.
Timeline Then(const Timeline& a, const Timeline& b);
Timeline Times(const Timeline& once, std::int64_t count);

}  // namespace trainfit::time
