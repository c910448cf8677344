// How long the walk of a training step of a 70B model takes: 80 layers of about 700 events, tensors
// resolved by slot, levels, parts and the caching allocator replayed. Budget: 5 ms a step.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "memory/peak.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::EventKind;
using program::Phase;
using program::Role;
using program::Segment;
using program::SegmentStore;

constexpr int kLayers = 80;
constexpr std::array kSizes = {134'217'728, 16'777'216, 469'762'048, 268'435'456,
                               32'768,      67'108'864, 2'097'152,   268'435'456};
constexpr std::array kLabels = {"query", "key", "value", "attention", "gate", "up", "down", "norm"};

// Records one layer: temporaries that come and go, and tensors saved from forward to backward.
class LayerMaker {
 public:
  std::vector<Event> Forward() {
    std::vector<Event> events;
    for (int i = 0; i < 18; ++i) {
      Temporaries(events, 5);
      saved_.push_back(Alloc(events, Role::kActivations));
    }
    return events;
  }

  std::vector<Event> Backward() {
    std::vector<Event> events;
    for (; !saved_.empty(); saved_.pop_back()) {
      Temporaries(events, 7);
      Free(events, saved_.back());
    }
    return events;
  }

 private:
  Event Alloc(std::vector<Event>& events, Role role) {
    Event event;
    event.kind = EventKind::kAlloc;
    event.role = role;
    event.slot.index = next_slot_++;
    event.bytes = Bytes(kSizes[random_() % kSizes.size()]);
    event.label = kLabels[random_() % kLabels.size()];
    events.push_back(event);
    events.emplace_back();  // the kernel
    return event;
  }

  static void Free(std::vector<Event>& events, Event event) {
    event.kind = EventKind::kFree;
    events.push_back(event);
  }

  void Temporaries(std::vector<Event>& events, int count) {
    std::vector<Event> live;
    for (int i = 0; i < count; ++i) {
      live.push_back(Alloc(events, Role::kTemporary));
      if (live.size() <= 4) continue;
      std::swap(live[random_() % live.size()], live.back());
      Free(events, live.back());
      live.pop_back();
    }
    for (const Event& event : live) Free(events, event);
  }

  std::mt19937 random_{1};
  std::vector<Event> saved_;
  std::int32_t next_slot_ = 0;
};

void SteadyStep(benchmark::State& state) {
  const auto steps = static_cast<std::size_t>(state.range(0));
  LayerMaker maker;
  SegmentStore store;
  const std::vector<program::Operation> operations(1);
  const Segment* forward = store.Leaf(maker.Forward(), operations);
  const Segment* backward = store.Leaf(maker.Backward(), operations);
  const Segment* step = store.Sequence({{store.Repeat({forward, 0}, kLayers, 1), 0},
                                        {store.Repeat({backward, kLayers - 1}, kLayers, -1), 0}});
  program::RankProgram rank;
  rank.phases.assign(steps, {Phase::kSteadyStep, step});
  for (auto _ : state) benchmark::DoNotOptimize(ReadPhases(rank));
}
BENCHMARK(SteadyStep)->Arg(1)->Arg(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainfit::memory
