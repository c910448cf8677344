// A rank's streams simulated event by event, where what runs at the same time slows down.
//
// The summary of a segment (without contention) is exact and costs nothing; this walk is for plans
// that are shown. The host issues operations in program order; each stream runs its own one after
// the other, waits for others where the program says so, and progresses at a rate that depends on
// what else runs then. Rounds of a repeat are simulated until two take equally long; the others are
// added at that pace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/units.h"
#include "program/event.h"
#include "program/segment.h"

namespace trainfit::time {

// What an operation occupies while it runs.
enum class Medium : std::uint8_t {
  kProcessors,  // the card's multiprocessors
  kIsland,      // links inside a node; NCCL's copies run on multiprocessors too
  kNetwork,     // links between nodes
  kHostLink,    // copies by the card's copy engines
};
inline constexpr int kMediumCount = 4;

struct Task {
  Seconds alone;  // on the GPU, with nothing beside it
  Seconds issue;  // of the host
  Medium medium = Medium::kProcessors;
};
using TaskOf = std::function<Task(const program::Operation&)>;

struct Contention {
  // Factor by which a kernel and an exchange beside it take longer: NCCL's channels take
  // multiprocessors and memory bandwidth. Measured: 1.126 of either (PKU-DAIR/Hetu-Galvatron
  // galvatron/profile_hardware/hardware_configs/overlap_coefficient.json).
  double beside_exchange = 1.126;
  // Exchanges on the same links share their rate.
  bool links_are_shared = true;

  static Contention None() { return {1, false}; }
};

// One operation as it ran; times from the beginning of the run.
struct Span {
  const program::Operation* operation = nullptr;
  Seconds begin;
  Seconds end;
};
using SpanSink = std::function<void(const Span&)>;

struct StreamsRun {
  Seconds total;
  std::array<Seconds, program::kStreamCount> busy;  // all rounds of repeats
  // Of all rounds: the compute stream waited for another stream, or for the host.
  Seconds waited_for_stream;
  Seconds waited_for_host;
};

// `spans`, if given, receives what was simulated: of long repeats the first rounds only.
StreamsRun RunStreams(const program::Segment& segment, const TaskOf& task_of,
                      const Contention& contention, const SpanSink& spans = {});

}  // namespace trainfit::time
