// A step as spans of work on tracks, for a timeline that people look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"

namespace trainfit::time {

struct TraceSpan {
  std::string name;
  std::string category;  // kernel class, or the direction of a pass
  std::int64_t track = 0;
  Seconds begin;  // from the beginning of the step
  Seconds end;
};

// One rank class, or one stage of a pipeline.
struct TraceProcess {
  std::string name;
  std::vector<std::string> tracks;
  std::vector<TraceSpan> spans;
};

// Of the steady step: a track for each stream that is used, a span for each operation (streams.h:
// of long repeats the first rounds only). Of a pipeline: a track for each stage and its passes.
// Errors: those of PathsOf.
Expected<std::vector<TraceProcess>> TraceStep(const program::Program& program,
                                              const plan::Plan& plan, const spec::Machine& machine);

}  // namespace trainfit::time
