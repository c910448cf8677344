// Somebody else's figure for a run, against what the run needs: which of the usual assumptions of
// tables and calculators do not hold here, and what each is worth.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/units.h"
#include "verdict/judge.h"

namespace trainfit::verdict {

// The run with one assumption of tables instead of what it has.
struct OtherAssumption {
  std::string words;  // "micro-batch 1, not 4"
  Bytes bytes;        // what it would need then
  bool is_in_nearest = false;
};

struct Difference {
  Bytes figure;
  std::vector<OtherAssumption> alone;  // each by itself, the largest effect first
  Bytes nearest;                       // of the combination that comes nearest to the figure
  bool is_explained = false;           // the nearest is within a tenth of it
};

// Judges the run under every combination of at most a handful of assumptions. Errors: the run
// itself cannot be judged.
Expected<Difference> ExplainDifference(const Case& question, const Answer& answer, Bytes figure);

}  // namespace trainfit::verdict
