// The law that lets a search trust a summary: on any tree of segments, the levels that the
// summaries promise are those of the walk, event by event, and the parts at a peak sum to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/heap_counter.h"
#include "memory/peak.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::EventKind;
using program::Phase;
using program::Place;
using program::RankProgram;
using program::Role;
using program::Segment;
using program::SegmentStore;

constexpr std::array kLabels = {"query", "key", "gate", "up", "norm", "logits"};

// Random trees whose frees always hit something live: a leaf allocates in slots of its own frame
// and frees some of them; what it leaves behind is freed by a matching leaf later, or never.
class TreeMaker {
 public:
  explicit TreeMaker(std::uint64_t seed) : random_(seed) {}

  RankProgram Make() {
    RankProgram rank;
    const std::array phases = {Phase::kLoad, Phase::kFirstStep, Phase::kSteadyStep, Phase::kSave};
    for (const Phase phase : phases) rank.phases.push_back({phase, Node(3)});
    return rank;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::int64_t Size() {
    if (Below(8) == 0) return static_cast<std::int64_t>(random_() % 200'000'000);
    return static_cast<std::int64_t>(random_() % 3'000'000);
  }

  // Steps grow with the depth, so that no two placements of a leaf share a frame.
  const Segment* Node(int depth) {
    if (depth == 0 || Below(4) == 0) return Pair();
    if (Below(2) == 0) {
      const int count = 1 + Below(4);
      const Segment* child = Node(depth - 1);
      int step = Below(2) == 0 ? kFrames : -kFrames;
      for (int i = 1; i < depth; ++i) step *= 10;
      return store_.Repeat({child, 0}, count, step);
    }
    std::vector<program::Child> children;
    for (int i = 0, n = 1 + Below(3); i < n; ++i) children.push_back({Node(depth - 1), 0});
    return store_.Sequence(std::move(children));
  }

  // Allocations, then (usually) a second leaf that frees most of them, with other nodes between.
  const Segment* Pair() {
    std::vector<Event> open;
    std::vector<Event> forward = Forward(open);
    std::vector<Event> backward;
    while (!open.empty()) {
      const std::size_t i = random_() % open.size();
      if (Below(12) > 0) {
        Event event = open[i];
        event.kind = EventKind::kFree;
        backward.push_back(event);
      }
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Segment* a = store_.Leaf(std::move(forward), {});
    const Segment* b = store_.Leaf(std::move(backward), {});
    if (Below(2) == 0) return store_.Sequence({{a, 0}, {b, 0}});
    const int count = 1 + Below(5);  // all forwards, then all backwards in reverse
    const int step = Below(2) == 0 ? 1 : 3;
    return store_.Sequence({{store_.Repeat({a, 0}, count, step), 0},
                            {store_.Repeat({b, step * (count - 1)}, count, -step), 0}});
  }

  std::vector<Event> Forward(std::vector<Event>& open) {
    std::vector<Event> events;
    for (int i = 0, n = Below(12); i < n; ++i) {
      if (!open.empty() && Below(3) == 0) {
        Event event = open.back();
        open.pop_back();
        event.kind = Below(3) == 0 ? EventKind::kMove : EventKind::kFree;
        if (event.kind == EventKind::kMove) event.to = {event.slot.frame, next_slot_++};
        events.push_back(event);
        if (event.kind == EventKind::kMove) {
          event.slot = event.to;
          open.push_back(event);
        }
        continue;
      }
      Event event;
      event.kind = EventKind::kAlloc;
      event.place = static_cast<Place>(Below(6) < 3 ? 0 : Below(program::kPlaceCount));
      event.role = static_cast<Role>(Below(program::kRoleCount));
      event.stream = static_cast<program::Stream>(Below(4));
      event.slot = {0, next_slot_++};
      event.bytes = Bytes(Size());
      event.label = kLabels[static_cast<std::size_t>(Below(static_cast<int>(kLabels.size())))];
      events.push_back(event);
      open.push_back(event);
    }
    return events;
  }

  static constexpr int kFrames = 100;
  std::mt19937_64 random_;
  SegmentStore store_;
  std::int32_t next_slot_ = 0;  // never used twice, so segments placed anywhere do not collide
};

// The walk in its plainest form, without any of the reader's code.
struct PlainWalk : program::EventSink {
  std::map<std::tuple<Place, std::int32_t, std::int32_t>, Event> live;
  std::array<Bytes, program::kPlaceCount> level = {};
  std::array<Bytes, program::kPlaceCount> peak = {};

  void Add(Place place, Bytes delta) {
    const auto i = static_cast<std::size_t>(place);
    level[i] += delta;
    peak[i] = std::max(peak[i], level[i]);
    if (place == Place::kPinned) Add(Place::kHost, delta);
  }

  void OnEvent(const Event& event, const Segment&) override {
    const std::tuple key{event.place, event.slot.frame, event.slot.index};
    if (event.kind == EventKind::kAlloc) {
      ASSERT_TRUE(live.emplace(key, event).second);
      Add(event.place, CountedBytes(event.place, event.bytes));
    } else if (event.kind == EventKind::kFree) {
      ASSERT_EQ(live.erase(key), 1u);
      Add(event.place, -CountedBytes(event.place, event.bytes));
    } else if (event.kind == EventKind::kMove) {
      Event moved = event;
      ASSERT_EQ(live.erase(key), 1u);
      ASSERT_TRUE(
          live.emplace(std::tuple{event.place, event.to.frame, event.to.index}, moved).second);
    }
  }
};

TEST(PeakLaw, SummaryIsWalkAndPartsSumToThePeak) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TreeMaker maker(seed);
    const RankProgram rank = maker.Make();
    std::vector<HeldAllocation> held;
    if (seed % 3 == 0) held = {{Bytes(8'519'680), "workspace"}, {Bytes(100), "state"}};
    std::array<PlaceLevels, 4> levels;
    ASSERT_EQ(SummarizePhases(rank, held, levels), 4u);
    const auto readings =
        ReadPhases(rank, {.allocator = {.expandable_segments = seed % 2 == 1}, .held = held});
    PlainWalk plain;
    for (std::size_t phase = 0; phase < 4; ++phase) {
      if (phase == 1) {
        for (const auto& each : held) plain.Add(Place::kGpu, CountedBytes(Place::kGpu, each.bytes));
      }
      plain.peak = plain.level;
      Walk(*rank.phases[phase].segment, 0, plain);
      for (std::size_t place = 0; place < program::kPlaceCount; ++place) {
        SCOPED_TRACE(testing::Message() << "phase " << phase << ", place " << place);
        const PlaceReading& reading = readings[phase].places[place];
        EXPECT_EQ(levels[phase][place], reading.levels);
        EXPECT_EQ(levels[phase][place].peak, plain.peak[place]);
        EXPECT_EQ(levels[phase][place].end, plain.level[place]);
        Bytes sum;
        for (const Part& part : reading.parts) sum += part.bytes;
        EXPECT_EQ(sum, reading.levels.peak);
      }
      const GpuReplay& gpu = *readings[phase].gpu;
      EXPECT_GE(gpu.allocated_peak, readings[phase].at(Place::kGpu).levels.peak);
      EXPECT_GE(gpu.reserved_peak, gpu.allocated_peak);
      EXPECT_GE(readings[phase].pinned_reserved_peak,
                readings[phase].at(Place::kPinned).levels.peak);
    }
  }
}

TEST(PeakLaw, HighestLevelsAreTheHighestOfAllPhases) {
  TreeMaker maker(5);
  const RankProgram rank = maker.Make();
  std::array<PlaceLevels, 4> levels;
  SummarizePhases(rank, {}, levels);
  const auto highest = HighestLevels(rank, {});
  for (std::size_t place = 0; place < program::kPlaceCount; ++place) {
    Bytes most;
    for (const PlaceLevels& phase : levels) most = std::max(most, phase[place].peak);
    EXPECT_EQ(highest[place].bytes, most);
    EXPECT_EQ(levels[highest[place].phase][place].peak, most);
  }
}

TEST(PeakLaw, TheSummaryStaysOffTheHeap) {
  TreeMaker maker(11);
  const RankProgram rank = maker.Make();
  const std::vector<HeldAllocation> held = {{Bytes(100), "workspace"}};
  std::array<PlaceLevels, 4> levels;
  const std::int64_t before = HeapAllocations();
  SummarizePhases(rank, held, levels);
  const auto highest = HighestLevels(rank, held);
  EXPECT_EQ(HeapAllocations(), before);
  EXPECT_GE(highest[0].bytes, levels[0][0].peak);
}

// Replaying the same step again takes no memory from the heap: pools, lists and maps are there.
TEST(PeakLaw, ASteadyReplayStaysOffTheHeap) {
  CachingAllocator allocator;
  std::mt19937_64 random(3);
  std::vector<std::pair<Bytes, std::size_t>> script;  // bytes, or 0 and which to free
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < 5000; ++i) {
    if (open.size() > 40) {
      std::swap(open[random() % open.size()], open.back());
      script.push_back({Bytes(), open.back()});
      open.pop_back();
    } else {
      open.push_back(script.size());
      script.push_back({Bytes(static_cast<std::int64_t>(1 + random() % 40'000'000)), 0});
    }
  }
  std::vector<CachingAllocator::BlockId> blocks(script.size());
  const auto run = [&] {
    for (std::size_t i = 0; i < script.size(); ++i) {
      const auto& [bytes, which] = script[i];
      if (bytes > Bytes()) {
        blocks[i] = allocator.Allocate(bytes);
      } else {
        allocator.Free(blocks[which]);
      }
    }
    for (const std::size_t which : open) allocator.Free(blocks[which]);
  };
  run();
  const std::int64_t before = HeapAllocations();
  run();
  EXPECT_EQ(HeapAllocations(), before);
}

}  // namespace
}  // namespace trainfit::memory
