// Plan → program: the one entry of all lowerings.
#pragma once

#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"

namespace trainfit::frameworks {

// Builds the program of every rank class, with all phases that are modelled.
// `plan` must have come from plan::ResolvePlan.
program::Program BuildProgram(const plan::Plan& plan);

}  // namespace trainfit::frameworks
