// The steady step as seconds, and in words.
#pragma once

#include "base/expected.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"
#include "verdict/verdict.h"

namespace trainfit::verdict {

// Of the slowest rank class. Errors: a card whose rates or bandwidth are not known, links that
// are not known.
Expected<StepTime> TimeStep(const plan::Plan& plan, const program::Program& program,
                            const spec::Machine& machine);

}  // namespace trainfit::verdict
