#include "validate/predict.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "program/program.h"
#include "validate/predict_operator.h"

namespace trainfit::validate {
namespace {

using verdict::Estimate;
using verdict::Fit;

// Fit as a rank: the higher, the worse.
int Badness(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return 0;
    case Fit::kUnknown:
      return 1;
    case Fit::kTight:
      return 2;
    case Fit::kDoesNotFit:
      return 3;
  }
  return 1;
}

class Collector {
 public:
  void Add(program::Phase phase, const verdict::PlaceAnswer& place) {
    const std::string where =
        std::string(program::Name(phase)) + "/" + std::string(program::Name(place.place));
    const bool point_fits = !place.capacity || place.bytes.point <= *place.capacity;
    AddVerdict({where, place.fit, point_fits});
    if (place.place != program::Place::kGpu || !place.readings) return;
    const bool is_first = prediction_.phase.empty();
    Raise(Reading::kAllocated, place.readings->allocated);
    Raise(Reading::kReserved, place.readings->reserved);
    const Estimate& highest = prediction_.memory[Index(Reading::kNvidiaSmi)];
    if (is_first || place.readings->nvidia_smi.point > highest.point) {
      prediction_.phase = program::Name(phase);
      prediction_.moment = place.peak_moment;
      prediction_.parts = place.parts;
    }
    Raise(Reading::kNvidiaSmi, place.readings->nvidia_smi);
    if (is_first || Badness(place.fit) > Badness(prediction_.fit)) prediction_.fit = place.fit;
    prediction_.point_fits = prediction_.point_fits && point_fits;
  }

  Prediction Take() { return std::move(prediction_); }

 private:
  static std::size_t Index(Reading reading) { return static_cast<std::size_t>(reading); }

  // A counter that is read at the end shows its highest value, so the whole range rises with it.
  void Raise(Reading reading, const Estimate& estimate) {
    Estimate& highest = prediction_.memory[Index(reading)];
    highest.point = std::max(highest.point, estimate.point);
    highest.low = std::max(highest.low, estimate.low);
    highest.high = std::max(highest.high, estimate.high);
  }

  // Of several ranks, the worst.
  void AddVerdict(PlaceVerdict verdict) {
    for (PlaceVerdict& other : prediction_.verdicts) {
      if (other.where != verdict.where) continue;
      if (Badness(verdict.fit) > Badness(other.fit)) other.fit = verdict.fit;
      other.point_fits = other.point_fits && verdict.point_fits;
      return;
    }
    prediction_.verdicts.push_back(std::move(verdict));
  }

  Prediction prediction_;
};

// Sources that read the counters of one rank alone; all others give the highest of all ranks, or
// that of a rank that is like all others.
struct LastRankSource {
  std::string_view begins;
  std::string_view why;
};
constexpr std::array kLastRankSources = {
    LastRankSource{"NVIDIA/Megatron-LM tests/functional_tests",
                   "megatron/training/training.py training_log: written by the last rank, which "
                   "is on the last pipeline stage"},
};

bool MeansLastRank(const Run& run) {
  return std::any_of(
      kLastRankSources.begin(), kLastRankSources.end(),
      [&](const LastRankSource& source) { return run.source.starts_with(source.begins); });
}

Prediction Refused(const Diagnostics& errors) {
  Prediction prediction;
  prediction.refused = errors.empty() ? "unknown" : errors.front().message;
  return prediction;
}

}  // namespace

Prediction Predict(const Run& run, const catalog::Catalog& catalog, ModelFinder& models) {
  if (run.kind == "kernel") return PredictOperator(run, catalog);
  const Expected<verdict::Case> question = CaseOf(run, catalog, models);
  if (!question.has_value()) return Refused(question.error());
  const Expected<verdict::Answer> answer = verdict::Judge(*question);
  if (!answer.has_value()) return Refused(answer.error());
  Collector collector;
  for (const verdict::PhaseAnswer& phase : answer->phases) {
    for (const verdict::RankAnswer& rank : phase.ranks) {
      if (MeansLastRank(run) && &rank != &phase.ranks.back()) continue;
      for (const verdict::PlaceAnswer& place : rank.places) collector.Add(phase.phase, place);
    }
  }
  Prediction prediction = collector.Take();
  prediction.gpu = question->machine.gpu.id;
  prediction.time = answer->time;
  return prediction;
}

}  // namespace trainfit::validate
