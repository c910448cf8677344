// A rank's program read as seconds.
//
// Segments are summarized once per reader and remembered: streams without contention (timeline.h).
// Where exchanges run beside kernels, what is read of a phase is the walk with contention
// (streams.h); without contention the two are the same.
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "base/expected.h"
#include "base/units.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"
#include "time/card.h"
#include "time/exchange.h"
#include "time/kernel.h"
#include "time/link_path.h"
#include "time/streams.h"
#include "time/timeline.h"

namespace trainfit::time {

struct TimeReading {
  Seconds point;  // of the phase, from its beginning to the end of its last stream
  Seconds low;    // 90 % range
  Seconds high;
  // What the longest path through the streams consists of; sums to `point`.
  Spent path;
  // How long each stream, and the host, was busy.
  std::array<Spent, kLaneCount> work;
  double model_flops = 0;     // without recomputation
  double hardware_flops = 0;  // with it

  double Share(Bound bound) const {
    return point.value() > 0 ? path.by_bound[static_cast<std::size_t>(bound)] / point.value() : 0;
  }
};

class Reader {
 public:
  // `paths`: those of the machine and the plan's splits (link_path.h).
  Reader(const spec::Gpu& gpu, const LinkPaths& paths);
  const Timeline& Read(const program::Segment& segment);
  // One operation, for walking a segment event by event (streams.h).
  Task TaskOf(const program::Operation& operation) const;
  const Card& card() const { return card_; }
  Spread LinkSpread() const { return WidestSpread(paths_, card_id_); }

 private:
  Timeline ReadLeaf(const program::Segment& leaf) const;
  KernelTime TimeOf(const program::Operation& operation) const;

  std::string card_id_;
  const LinkPaths& paths_;
  Card card_;
  std::unordered_map<const program::Segment*, Timeline> known_;
};

// The longest way through the streams, from their common beginning.
const Path& Longest(const Timeline& timeline);

// Cards of one kind differ in speed, and ranks that exchange something every step go at the pace of
// the slowest: lengthens what the path does on the card itself, for `ranks` of them.
void GoAtTheSlowestPace(std::int64_t ranks, TimeReading* reading);

// The 90 % range around reading->point: links by their own range (exchange.h), the rest by the
// spread of kernel measurements.
void SetRange(const Reader& reader, TimeReading* reading);

// Of one phase. `machine` must be that of the plan. Errors: those of PathsOf.
Expected<TimeReading> ReadTime(const program::PhaseProgram& phase, const plan::Plan& plan,
                               const spec::Machine& machine);

}  // namespace trainfit::time
