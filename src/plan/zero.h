// Which of ZeRO's settings a plan has, and what they change about types.
#pragma once

#include "base/diagnostic.h"
#include "plan/plan.h"
#include "spec/recipe.h"

namespace trainfit::plan {

inline bool IsZero(spec::Sharding sharding) {
  return sharding == spec::Sharding::kZero1 || sharding == spec::Sharding::kZero2 ||
         sharding == spec::Sharding::kZero3;
}

// Fills in plan.zero and sets the types that DeepSpeed's engine sets. `errors` takes options that
// do not go together, each with what to use instead.
void ResolveZero(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors);

}  // namespace trainfit::plan
