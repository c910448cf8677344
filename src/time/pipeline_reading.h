// A step of a pipeline, from the programs of its stages.
#pragma once

#include <vector>

#include "base/expected.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"
#include "time/pipeline.h"
#include "time/reading.h"

namespace trainfit::time {

// Whether the step of `program` is that of several stages, which wait for each other.
bool IsPipeline(const program::Program& program);

// The steady step: the pieces of every stage are read alone (reading.h) and arranged in time
// (pipeline.h). The path is that of the stage with most to do: its passes, its update, and the time
// in which it waits for others. FLOPs are those of this stage's ranks. Errors: those of PathsOf.
Expected<TimeReading> ReadPipeline(const program::Program& program, const plan::Plan& plan,
                                   const spec::Machine& machine);

// The passes of that step, in the order in which they end. Errors: as above.
Expected<std::vector<PassSpan>> PassesOf(const program::Program& program, const plan::Plan& plan,
                                         const spec::Machine& machine);

}  // namespace trainfit::time
