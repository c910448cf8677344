#include "time/timeline.h"

namespace trainfit::time {
namespace {

constexpr double kNoPath = -1;

constexpr std::size_t Index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Spent& Spent::operator+=(const Spent& other) {
  for (std::size_t i = 0; i < by_class.size(); ++i) by_class[i] += other.by_class[i];
  for (std::size_t i = 0; i < by_bound.size(); ++i) by_bound[i] += other.by_bound[i];
  return *this;
}

Timeline Timeline::Identity() {
  Timeline timeline;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    for (std::size_t j = 0; j < kLaneCount; ++j) {
      timeline.paths[i][j].seconds = i == j ? 0 : kNoPath;
    }
  }
  return timeline;
}

void Timeline::Wait(int lane, int awaited) {
  for (std::size_t j = 0; j < kLaneCount; ++j) {
    const Path& other = paths[Index(awaited)][j];
    Path& own = paths[Index(lane)][j];
    if (other.seconds > own.seconds) own = other;
  }
}

void Timeline::Run(program::Stream stream, int kernel_class, KernelTime time, Seconds issue) {
  for (Path& host : paths[Index(kHostLane)]) {
    if (host.seconds < 0) continue;
    host.seconds += issue.value();
    host.spent.Add(kHostClass, Bound::kHost, issue.value());
  }
  work[Index(kHostLane)].Add(kHostClass, Bound::kHost, issue.value());
  const int lane = static_cast<int>(stream);
  Wait(lane, kHostLane);
  for (Path& path : paths[Index(lane)]) {
    if (path.seconds < 0) continue;
    path.seconds += time.seconds.value();
    path.spent.Add(kernel_class, time.bound, time.seconds.value());
  }
  work[Index(lane)].Add(kernel_class, time.bound, time.seconds.value());
}

Timeline Then(const Timeline& a, const Timeline& b) {
  Timeline both = Timeline::Identity();
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    for (std::size_t j = 0; j < kLaneCount; ++j) {
      double longest = kNoPath;
      std::size_t through = 0;
      for (std::size_t k = 0; k < kLaneCount; ++k) {
        const double first = a.paths[k][j].seconds;
        const double second = b.paths[i][k].seconds;
        if (first < 0 || second < 0 || first + second <= longest) continue;
        longest = first + second;
        through = k;
      }
      Path& path = both.paths[i][j];
      path.seconds = longest;
      if (longest < 0) continue;
      path.spent = a.paths[through][j].spent;
      path.spent += b.paths[i][through].spent;
    }
    both.work[i] = a.work[i];
    both.work[i] += b.work[i];
  }
  both.model_flops = a.model_flops + b.model_flops;
  both.hardware_flops = a.hardware_flops + b.hardware_flops;
  return both;
}

Timeline Times(const Timeline& once, std::int64_t count) {
  Timeline result = Timeline::Identity();
  Timeline power = once;
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) result = Then(result, power);
    if (count > 1) power = Then(power, power);
  }
  return result;
}

}  // namespace trainfit::time
