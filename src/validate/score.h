// How near predictions come to measurements: errors of single rows, and summaries of groups.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/predict.h"
#include "validate/record.h"

namespace trainfit::validate {

// One measured number beside its prediction.
struct Comparison {
  Reading reading = Reading::kNvidiaSmi;
  std::string meaning;  // as the source calls it: "max_allocated", …, "unknown"
  Bytes measured;
  verdict::Estimate predicted;
  double Error() const;  // (predicted − measured) / measured
  bool InRange() const { return predicted.low <= measured && measured <= predicted.high; }
  double Width() const;  // of the range, as a share of the point
};

// A measured step beside its prediction.
struct TimeComparison {
  Seconds measured;
  Seconds point;
  Seconds low;
  Seconds high;
  double Error() const { return (point - measured) / measured; }
  bool InRange() const { return low <= measured && measured <= high; }
  double Width() const { return point > Seconds() ? (high - low) / point : 0; }
};

// A record with its prediction.
struct Row {
  Record record;
  Prediction prediction;
  std::optional<Comparison> main;  // by the record's own number
  std::vector<Comparison> others;  // by its further readings
  std::optional<TimeComparison> time;
};
Row MakeRow(Record record, Prediction prediction);

enum class GroupBy : std::uint8_t { kSource, kGpu, kMethod, kMeaning, kQuality };
std::string_view Name(GroupBy by);
std::optional<GroupBy> ParseGroupBy(std::string_view word);

// Errors are shares: 0.01 is one percent. Quantiles are interpolated linearly between rows.
struct Errors {
  std::int64_t count = 0;
  double mean = 0;  // of the absolute errors, as are the next three
  double median = 0;
  double p90 = 0;
  double max = 0;
  double bias = 0;          // mean of the signed errors: positive predicts too much
  double in_range = 0;      // share of the measurements inside the predicted range
  double median_width = 0;  // of the predicted ranges
};

// What runs that went through, and runs that ended out of memory, were said to do.
struct Outcomes {
  std::int64_t fits = 0;  // runs
  std::int64_t fits_tight = 0;
  std::int64_t fits_refuted = 0;  // said not to fit, although they ran
  std::int64_t oom = 0;
  std::int64_t oom_tight = 0;
  std::int64_t oom_missed = 0;  // said to fit, although they ran out of memory
};

struct Group {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t refused = 0;
  Errors errors;  // of memory
  Errors time;    // of the seconds of a step
  Outcomes outcomes;
};

// All rows together, in a group called "all".
Group Summarize(const std::vector<Row>& rows);
// Groups by name. By meaning, a row counts once for every reading it was measured with.
std::vector<Group> Summarize(const std::vector<Row>& rows, GroupBy by);

struct Reason {
  std::string text;
  std::int64_t rows = 0;
};
std::vector<Reason> Reasons(const std::vector<Row>& rows);  // most frequent first

// Indices of the rows with the largest absolute errors, largest first.
std::vector<std::size_t> Worst(const std::vector<Row>& rows, std::size_t count);
std::vector<std::size_t> WorstOfTime(const std::vector<Row>& rows, std::size_t count);

}  // namespace trainfit::validate
