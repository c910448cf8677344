// One case, judged: the recipe on the machine, phase by phase.
#pragma once

#include <memory>

#include "base/expected.h"
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

// What one GPU must hold at the worst phase, from the program's summary alone: no walk, no names.
// The range is wider than Judge's, whose reserved bytes come from replaying the allocator.
struct QuickAnswer {
  Fit fit = Fit::kUnknown;
  Estimate gpu;
};
Expected<QuickAnswer> JudgeQuickly(const Case& question);

// The largest micro-batch and length that surely fit, and the fewest GPUs of this card.
Limits FindLimits(const Case& question);

// Single changes that make it fit, or come nearest; best first. Each was judged again.
std::vector<Remedy> FindRemedies(const Case& question, const Answer& answer);

}  // namespace trainfit::verdict
