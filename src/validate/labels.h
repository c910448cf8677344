// Reports of what happened to a run, phase by phase, against what was predicted for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "validate/score.h"

namespace trainfit::validate {

// What a report's key speaks of: places of phases, as predictions name them ("load/host").
struct LabelMeaning {
  std::string_view key;              // of verdict_by_phase
  bool in_step = false;              // a failure inside the training step
  std::vector<std::string_view> at;  // empty: no matter of memory
};
// The one table of keys. nullptr: not a known key.
const LabelMeaning* MeaningOf(std::string_view key);

// Rows that were refused count as reports, never as called.
struct ReportScore {
  std::int64_t step_failures = 0;  // reported
  std::int64_t step_called = 0;    // of these, predicted not to fit
  std::int64_t step_ran = 0;
  std::int64_t false_alarms = 0;    // ran, but predicted not to fit
  std::int64_t other_failures = 0;  // in loading, saving, on the host, on disk
  std::int64_t other_named = 0;     // of these, predicted there
  std::int64_t refused = 0;         // labels of rows without a prediction
};
ReportScore ScoreReports(const std::vector<Row>& rows);

// What a report leaves out is taken at its least, so that a failure that is called does not rest on
// a guess: one short sequence, small adapters on every linear layer, activations recomputed.
void FillReport(Run& run);

}  // namespace trainfit::validate
