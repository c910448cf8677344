#include "time/streams.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "time/timeline.h"

namespace trainfit::time {
namespace {

using program::KernelClass;
using program::Operation;
using program::Segment;
using program::SegmentStore;
using program::Stream;

// Of an operation: FLOPs are its microseconds, and the first of its shape the host's.
Task Read(const Operation& operation) {
  Task task;
  task.alone = Seconds(operation.flops.value() * 1e-6);
  task.issue = Seconds(static_cast<double>(operation.shape[0]) * 1e-6);
  if (operation.kernel == KernelClass::kCollective) task.medium = Medium::kIsland;
  return task;
}

Operation Kernel(double microseconds, std::int64_t issue = 0) {
  Operation operation;
  operation.flops = Flops(microseconds);
  operation.shape[0] = issue;
  return operation;
}
Operation Exchange(double microseconds, Stream stream = Stream::kAllGather) {
  Operation operation = Kernel(microseconds);
  operation.kernel = KernelClass::kCollective;
  operation.stream = stream;
  return operation;
}
Operation Wait(Stream stream, Stream awaited) {
  Operation operation;
  operation.kernel = KernelClass::kWait;
  operation.stream = stream;
  operation.awaited = awaited;
  return operation;
}

const Segment* Leaf(SegmentStore& store, std::vector<Operation> operations) {
  return store.Leaf({}, std::move(operations));
}

double Total(const Segment& segment, const Contention& contention = Contention::None()) {
  return RunStreams(segment, Read, contention).total.value() * 1e6;
}

TEST(StreamsTest, StreamsRunSideBySideUntilOneWaits) {
  SegmentStore store;
  EXPECT_NEAR(Total(*Leaf(store, {Exchange(30), Kernel(100), Kernel(5)})), 105, 1e-6);
  EXPECT_NEAR(
      Total(*Leaf(store, {Exchange(30), Wait(Stream::kCompute, Stream::kAllGather), Kernel(100)})),
      130, 1e-6);
}

TEST(StreamsTest, TheHostIssuesOneAfterTheOther) {
  SegmentStore store;
  EXPECT_NEAR(Total(*Leaf(store, {Kernel(1, 10), Kernel(1, 10), Kernel(1, 10)})), 31, 1e-6);
  EXPECT_NEAR(Total(*Leaf(store, {Kernel(50, 10), Kernel(1, 10), Kernel(1, 10)})), 62, 1e-6);
}

TEST(StreamsTest, WhatRunsBesideAnExchangeSlowsDown) {
  SegmentStore store;
  const Segment* both = Leaf(store, {Exchange(1000), Kernel(100)});
  const StreamsRun run = RunStreams(*both, Read, Contention{1.25, true});
  // The kernel takes 125, of which the exchange loses a fifth.
  EXPECT_NEAR(run.busy[0].value() * 1e6, 125, 1e-6);
  EXPECT_NEAR(run.total.value() * 1e6, 1025, 1e-6);
}

TEST(StreamsTest, ExchangesOnOneLinkShareIt) {
  SegmentStore store;
  const Segment* two = Leaf(store, {Exchange(100), Exchange(40, Stream::kReduceScatter)});
  EXPECT_NEAR(Total(*two, Contention{1.126, true}), 140, 1e-6);
  EXPECT_NEAR(Total(*two), 100, 1e-6);
}

TEST(StreamsTest, IdleTimeHasACause) {
  SegmentStore store;
  const Segment* step = Leaf(store, {Exchange(30), Wait(Stream::kCompute, Stream::kAllGather),
                                     Kernel(10), Kernel(10, 50)});
  const StreamsRun run = RunStreams(*step, Read, Contention::None());
  EXPECT_NEAR(run.waited_for_stream.value() * 1e6, 30, 1e-6);
  EXPECT_NEAR(run.waited_for_host.value() * 1e6, 10, 1e-6);
}

TEST(StreamsTest, LongRepeatsAreExtrapolated) {
  SegmentStore store;
  // Gathering is the slower one: 40 for each round, the last round's kernel at the end.
  const Segment* layer =
      Leaf(store, {Exchange(40), Wait(Stream::kCompute, Stream::kAllGather), Kernel(25)});
  const Segment* layers = store.Repeat({layer, 0}, 1000, 1);
  EXPECT_NEAR(Total(*layers), 40 * 1000 + 25, 1e-3);
  const Segment* steps = store.Repeat({layers, 0}, 200, 0);
  EXPECT_NEAR(Total(*steps), 40.0 * 1000 * 200 + 25, 1e-3);
  EXPECT_NEAR(RunStreams(*steps, Read, Contention::None()).busy[0].value() * 1e6, 25.0 * 1000 * 200,
              1e-3);
}

TEST(StreamsTest, AStreamThatFallsBehindSetsThePace) {
  SegmentStore store;
  const Segment* round = Leaf(store, {Exchange(70), Kernel(30)});
  EXPECT_NEAR(Total(*store.Repeat({round, 0}, 500, 0)), 70 * 500, 1e-3);
}

TEST(StreamsTest, SpansCoverWhatRan) {
  SegmentStore store;
  const Segment* step =
      Leaf(store, {Exchange(30), Wait(Stream::kCompute, Stream::kAllGather), Kernel(10)});
  std::vector<Span> spans;
  RunStreams(*step, Read, Contention::None(), [&](const Span& span) { spans.push_back(span); });
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_NEAR(spans[1].begin.value() * 1e6, 30, 1e-6);
  EXPECT_NEAR(spans[1].end.value() * 1e6, 40, 1e-6);
}

// The recurrence that the simulation is without contention.
struct Clocks {
  std::array<double, program::kStreamCount> stream = {};
  double host = 0;

  void Take(const Segment& segment) {
    for (std::int64_t i = 0; i < segment.count(); ++i) {
      for (const program::Child& child : segment.children()) Take(*child.segment);
    }
    for (const Operation& operation : segment.operations()) {
      double& own = stream[static_cast<std::size_t>(operation.stream)];
      if (operation.kernel == KernelClass::kWait) {
        own = std::max(own, stream[static_cast<std::size_t>(operation.awaited)]);
        continue;
      }
      host += static_cast<double>(operation.shape[0]);
      own = std::max(own, host) + operation.flops.value();
    }
  }
  double Total() const { return std::max(host, *std::max_element(stream.begin(), stream.end())); }
};

std::vector<Operation> SomeOperations() {
  return *rc::gen::container<std::vector<Operation>>(rc::gen::exec([] {
    Operation operation = Kernel(*rc::gen::inRange(0, 50), *rc::gen::inRange(0, 20));
    operation.stream = static_cast<Stream>(*rc::gen::inRange(0, program::kStreamCount));
    if (*rc::gen::inRange(0, 3) == 0) {
      operation.kernel = KernelClass::kWait;
      operation.awaited = static_cast<Stream>(*rc::gen::inRange(0, program::kStreamCount));
    }
    return operation;
  }));
}

RC_GTEST_PROP(StreamsLaw, WithoutContentionTheWalkIsTheRecurrence, ()) {
  SegmentStore store;
  const Segment* first = Leaf(store, SomeOperations());
  const Segment* again = store.Repeat({Leaf(store, SomeOperations()), 0}, 4, 1);
  const Segment* all = store.Sequence({{first, 0}, {again, 0}, {Leaf(store, SomeOperations()), 0}});
  Clocks clocks;
  clocks.Take(*all);
  RC_ASSERT(std::abs(Total(*all) - clocks.Total()) <= 1e-6 * (1 + clocks.Total()));
}

// The same as a summary (timeline.h).
Timeline Summary(const Segment& segment) {
  Timeline all = Timeline::Identity();
  for (const Operation& operation : segment.operations()) {
    const int lane = static_cast<int>(operation.stream);
    if (operation.kernel == KernelClass::kWait) {
      all.Wait(lane, static_cast<int>(operation.awaited));
      continue;
    }
    const Task task = Read(operation);
    all.Run(operation.stream, static_cast<int>(operation.kernel), {task.alone, Bound::kCompute},
            task.issue);
  }
  for (const program::Child& child : segment.children()) {
    all = Then(all, Times(Summary(*child.segment), segment.count()));
  }
  return all;
}

RC_GTEST_PROP(StreamsLaw, WithoutContentionTheWalkIsTheSummary, ()) {
  SegmentStore store;
  const Segment* first = Leaf(store, SomeOperations());
  const Segment* again = store.Repeat({Leaf(store, SomeOperations()), 0}, 3, 1);
  const Segment* all = store.Sequence({{first, 0}, {again, 0}, {Leaf(store, SomeOperations()), 0}});
  double longest = 0;
  for (const auto& row : Summary(*all).paths) {
    for (const Path& path : row) longest = std::max(longest, path.seconds);
  }
  RC_ASSERT(std::abs(Total(*all) - longest * 1e6) <= 1e-6 * (1 + longest * 1e6));
}

RC_GTEST_PROP(StreamsLaw, ContentionNeverMakesFaster, ()) {
  SegmentStore store;
  std::vector<Operation> operations = SomeOperations();
  for (Operation& operation : operations) {
    if (operation.stream != Stream::kCompute && operation.kernel != KernelClass::kWait) {
      operation.kernel = KernelClass::kCollective;
    }
  }
  const Segment* leaf = Leaf(store, std::move(operations));
  RC_ASSERT(Total(*leaf, Contention()) >= Total(*leaf) * (1 - 1e-9));
}

}  // namespace
}  // namespace trainfit::time
