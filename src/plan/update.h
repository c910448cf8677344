// When weights are updated.
#pragma once

#include "base/diagnostic.h"
#include "plan/plan.h"
#include "spec/recipe.h"

namespace trainfit::plan {

// Fills in plan.optimizer_in_backward. Errors: combinations that have no lowering, or no meaning.
void ResolveUpdate(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors);

}  // namespace trainfit::plan
