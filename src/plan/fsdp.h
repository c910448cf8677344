// What torch's FSDP holds in which type, by the recipe and the framework's facts.
#pragma once

#include "plan/plan.h"

namespace trainfit::plan {

inline bool IsFsdp(spec::Sharding sharding) {
  return sharding == spec::Sharding::kFsdp1 || sharding == spec::Sharding::kFsdp2;
}

// Fills in the types and lifetimes of sharded weights and gradients; nothing that other shardings
// read. Errors: combinations that have no lowering.
void ResolveFsdp(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors);

}  // namespace trainfit::plan
