#include "report/deciding.h"

#include <tuple>

namespace trainfit::report {
namespace {

int Badness(verdict::Fit fit) {
  switch (fit) {
    case verdict::Fit::kFits:
      return 0;
    case verdict::Fit::kUnknown:
      return 1;
    case verdict::Fit::kTight:
      return 2;
    case verdict::Fit::kDoesNotFit:
      return 3;
  }
  return 0;
}

// Greater: nearer to deciding the answer.
std::tuple<bool, int, bool, double, std::int64_t> Weight(const verdict::PlaceAnswer& place,
                                                         verdict::Fit answer) {
  const bool is_gpu = place.place == program::Place::kGpu;
  const bool has_capacity = place.capacity && place.capacity->value() > 0;
  const double filled = has_capacity ? static_cast<double>(place.bytes.point.value()) /
                                           static_cast<double>(place.capacity->value())
                                     : 0;
  return {place.fit == answer, Badness(place.fit), is_gpu, filled, place.bytes.point.value()};
}

DecidingPlace HeaviestPlace(const verdict::Answer& answer) {
  DecidingPlace best;
  for (const verdict::PhaseAnswer& phase : answer.phases) {
    for (const verdict::RankAnswer& rank : phase.ranks) {
      for (const verdict::PlaceAnswer& place : rank.places) {
        if (best.place == nullptr || Weight(place, answer.fit) > Weight(*best.place, answer.fit)) {
          best = {&phase, &rank, &place};
        }
      }
    }
  }
  return best;
}

// Nearly as full, in the same kind of place, with the same verdict.
bool IsAsGood(const verdict::PlaceAnswer& candidate, const verdict::PlaceAnswer& heaviest) {
  constexpr double kNearly = 0.99;
  return candidate.place == heaviest.place && candidate.fit == heaviest.fit &&
         candidate.capacity == heaviest.capacity &&
         static_cast<double>(candidate.bytes.point.value()) >=
             kNearly * static_cast<double>(heaviest.bytes.point.value());
}

}  // namespace

DecidingPlace FindDecidingPlace(const verdict::Answer& answer) {
  DecidingPlace best = HeaviestPlace(answer);
  if (best.place == nullptr) return best;
  for (const verdict::PhaseAnswer& phase : answer.phases) {
    if (phase.phase != program::Phase::kSteadyStep) continue;
    for (const verdict::RankAnswer& rank : phase.ranks) {
      for (const verdict::PlaceAnswer& place : rank.places) {
        const bool is_better = best.phase->phase != program::Phase::kSteadyStep ||
                               place.bytes.point > best.place->bytes.point;
        if (is_better && IsAsGood(place, *best.place)) best = {&phase, &rank, &place};
      }
    }
  }
  return best;
}

}  // namespace trainfit::report
