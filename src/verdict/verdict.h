// The answer: what each phase needs in each place, whether it fits, and what would make it fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/basis.h"
#include "base/units.h"
#include "plan/plan.h"
#include "program/event.h"
#include "program/program.h"
#include "spec/machine.h"

namespace trainfit::verdict {

// A point and a 90 % range.
struct Estimate {
  Bytes point;
  Bytes low;
  Bytes high;
  bool operator==(const Estimate&) const = default;
};

enum class Fit {
  kFits,        // the upper end is below the capacity
  kTight,       // the range straddles the capacity
  kDoesNotFit,  // the lower end is above it
  kUnknown,     // the capacity is not known
};
std::string_view Name(Fit fit);  // "fits", "tight", "does_not_fit", "unknown"

// One labelled share of the bytes at the peak. Parts sum to the point estimate.
struct PartBytes {
  std::string name;  // "gradients"
  Bytes bytes;
  Basis basis = Basis::kExact;
  std::string formula;  // "2 B × 7,241,732,096 trainable parameters": how the number came about
  std::string source;   // where the rule was read or measured
  bool operator==(const PartBytes&) const = default;
};

// What a torch user can read off: allocated ≤ reserved ≤ nvidia-smi. GPU only.
struct Readings {
  Estimate allocated;
  Estimate reserved;
  Estimate nvidia_smi;
};

struct PlaceAnswer {
  program::Place place = program::Place::kGpu;
  std::string scope;  // "rank" (GPU), "node" (host), "file system" (disk)
  Fit fit = Fit::kUnknown;
  Estimate bytes;  // GPU: what the card must hold (nvidia-smi's view)
  std::optional<Bytes> capacity;
  std::vector<PartBytes> parts;  // sum to bytes.point, largest first
  std::string peak_moment;       // "backward of layer 31: silu", what runs at the highest point
  std::optional<Readings> readings;
};

struct RankAnswer {
  std::string role;
  std::int64_t count = 1;
  std::vector<PlaceAnswer> places;
};

struct PhaseAnswer {
  program::Phase phase = program::Phase::kSteadyStep;
  std::vector<RankAnswer> ranks;
};

// Largest values whose point estimate is within the capacity, everything else unchanged. Unset: not
// even the smallest is.
struct Limits {
  std::optional<std::int64_t> max_micro_batch;
  std::optional<std::int64_t> max_sequence_length;
  std::optional<std::int64_t> min_gpus;  // of this card, fully sharded
};

// How long one steady step takes, and what it is bound by.
struct StepTime {
  Seconds point;  // of the slowest rank
  Seconds low;    // 90 % range
  Seconds high;
  double tokens_per_second = 0;  // of the whole machine
  // Model FLOPs a second (nothing counted twice) and computed ones (with recomputation), as a share
  // of the peak of the compute dtype.
  double mfu = 0;
  double hfu = 0;
  // Shares of the longest path through the streams; each list sums to 1, largest first.
  struct Share {
    std::string name;
    double share = 0;
    bool operator==(const Share&) const = default;
  };
  std::vector<Share> bound_by;  // "tensor cores", "memory bandwidth", …
  std::vector<Share> by_class;  // "matrix products", …
  std::string bottleneck;       // one sentence
};

// A single change, re-evaluated.
struct Remedy {
  std::string change;  // in words and as a flag: "--micro-batch 1"
  std::string cost;    // what it costs: "step count × 4"
  Fit fit = Fit::kUnknown;
  Bytes point;
  Bytes saves;  // against the plan as asked; can be negative
};

struct Answer {
  plan::Plan plan;
  spec::Machine machine;
  Fit fit = Fit::kUnknown;  // the worst of all phases and places
  std::vector<PhaseAnswer> phases;
  Limits limits;
  std::vector<Remedy> remedies;  // best first; empty when it fits
  std::optional<StepTime> time;
  std::string time_unknown;  // why there is no time
  std::vector<plan::Assumption> assumptions;
  std::vector<std::string> warnings;
};

}  // namespace trainfit::verdict
