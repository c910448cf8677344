// The law that lets a summary stand for a walk: on any tree of segments, the composed matrices give
// the same moments as going through the operations one by one.
#include "time/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace trainfit::time {
namespace {

struct Step {
  int lane = 0;
  int awaited = -1;  // a wait when not negative
  double seconds = 0;
  double issue = 0;
};

// Moments of all streams, moved on step by step.
class Walker {
 public:
  void Do(const Step& step) {
    double& lane = moments_[static_cast<std::size_t>(step.lane)];
    if (step.awaited >= 0) {
      lane = std::max(lane, moments_[static_cast<std::size_t>(step.awaited)]);
      return;
    }
    double& host = moments_[kHostLane];
    host += step.issue;
    lane = std::max(lane, host) + step.seconds;
  }
  double Latest() const { return *std::max_element(moments_.begin(), moments_.end()); }

 private:
  std::array<double, kLaneCount> moments_ = {};
};

void Do(const Step& step, Timeline* timeline) {
  if (step.awaited >= 0) {
    timeline->Wait(step.lane, step.awaited);
  } else {
    timeline->Run(static_cast<program::Stream>(step.lane), step.lane,
                  {Seconds(step.seconds), Bound::kCompute}, Seconds(step.issue));
  }
}

std::vector<Step> RandomSteps(std::mt19937_64& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<Step> steps(static_cast<std::size_t>(1 + below(12)));
  for (Step& step : steps) {
    step.lane = below(program::kStreamCount);
    if (below(4) == 0) {
      step.lane = below(kLaneCount);
      step.awaited = below(kLaneCount);
    } else {
      step.seconds = below(1000) * 1e-6;
      step.issue = below(300) * 1e-6;
    }
  }
  return steps;
}

double Latest(const Timeline& timeline) {
  double latest = 0;
  for (const auto& row : timeline.paths) {
    for (const Path& path : row) latest = std::max(latest, path.seconds);
  }
  return latest;
}

TEST(TimelineTest, SummaryIsWalk) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Walker walker;
    Timeline whole = Timeline::Identity();
    for (int part = 0; part < 3; ++part) {
      const std::vector<Step> steps = RandomSteps(random);
      const auto count = static_cast<std::int64_t>(random() % 20);
      Timeline once = Timeline::Identity();
      for (const Step& step : steps) Do(step, &once);
      whole = Then(whole, Times(once, count));
      for (std::int64_t i = 0; i < count; ++i) {
        for (const Step& step : steps) walker.Do(step);
      }
    }
    EXPECT_NEAR(Latest(whole), walker.Latest(), 1e-12);
  }
}

TEST(TimelineTest, WhatAPathConsistsOfSumsToIt) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 50; ++round) {
    Timeline once = Timeline::Identity();
    for (const Step& step : RandomSteps(random)) Do(step, &once);
    const Timeline whole = Times(once, 13);
    for (const auto& row : whole.paths) {
      for (const Path& path : row) {
        if (path.seconds < 0) continue;
        const auto& classes = path.spent.by_class;
        const auto& bounds = path.spent.by_bound;
        EXPECT_NEAR(std::accumulate(classes.begin(), classes.end(), 0.0), path.seconds, 1e-12);
        EXPECT_NEAR(std::accumulate(bounds.begin(), bounds.end(), 0.0), path.seconds, 1e-12);
      }
    }
  }
}

TEST(TimelineTest, KernelsShorterThanTheirIssueWaitForTheHost) {
  Timeline once = Timeline::Identity();
  once.Run(program::Stream::kCompute, 0, {Seconds(2e-6), Bound::kBandwidth}, Seconds(10e-6));
  const Timeline many = Times(once, 1000);
  EXPECT_NEAR(Latest(many), 1000 * 10e-6 + 2e-6, 1e-9);
}

}  // namespace
}  // namespace trainfit::time
