// One case, judged: the recipe on the machine, phase by phase.
#pragma once

#include <memory>
#include <optional>

#include "base/expected.h"
#include "memory/shortage.h"
#include "plan/plan.h"
#include "spec/machine.h"
#include "spec/model.h"
#include "spec/recipe.h"
#include "verdict/verdict.h"

namespace trainfit::verdict {

// Everything that a question consists of; changing one field and judging again is a remedy.
struct Case {
  spec::Recipe recipe;
  std::shared_ptr<const spec::ModelSpec> model;
  spec::Machine machine;
  plan::FactTable facts;
};

// The answer without limits and remedies. Errors: those of plan::ResolvePlan.
Expected<Answer> Judge(const Case& question);

// The GPU place with the most bytes over all phases and ranks.
const PlaceAnswer& HighestGpu(const Answer& answer);
// Reserved over allocated there; unset when it was not read.
std::optional<double> ReservedRatio(const PlaceAnswer& gpu);

// What one GPU must hold at the worst phase, from the program's summary alone: no walk, no names.
// The range is wider than Judge's, whose reserved bytes come from replaying the allocator.
struct QuickAnswer {
  Fit fit = Fit::kUnknown;
  Estimate gpu;
  Bytes capacity;
};
// `reserved_ratio`: reserved over allocated of a related case that was replayed; unset: typical.
Expected<QuickAnswer> JudgeQuickly(const Case& question, std::optional<double> reserved_ratio = {});

// The first allocation that fails when the caching allocator goes through all phases on this card,
// giving back what it must. Unset: it gets through. Errors: those of plan::ResolvePlan.
Expected<std::optional<memory::Shortage>> FindShortage(const Case& question);

// The largest micro-batch and length, and the fewest GPUs of this card, whose point estimate is
// within the capacity.
// Searched on summaries, then lowered until the allocator gets through on this card.
Limits FindLimits(const Case& question, const Answer& answer);

// Single changes that make it fit, or come nearest; best first. Each was judged again.
std::vector<Remedy> FindRemedies(const Case& question, const Answer& answer);

}  // namespace trainfit::verdict
