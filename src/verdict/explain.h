// Why a part has the size it has: the formula with its numbers, and where the rule comes from.
#pragma once

#include <span>

#include "memory/peak.h"
#include "plan/plan.h"
#include "verdict/verdict.h"

namespace trainfit::verdict {

// The parts of a GPU peak by role, each with name, formula and source; they sum to the parts given.
std::vector<PartBytes> ExplainParts(const plan::Plan& plan, std::span<const memory::Part> parts);

// "allocating gate × up in layer 31 (for silu)".
std::string DescribeMoment(const plan::Plan& plan, const memory::Moment& moment);

}  // namespace trainfit::verdict
