#include "validate/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace trainfit::validate {
namespace {

double Real(Bytes bytes) { return static_cast<double>(bytes.value()); }

// Of sorted values; interpolated, so that no row decides alone.
double Quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct Deviation {
  double error = 0;
  double width = 0;
  bool in_range = false;
};

template <typename SomeComparison>
Deviation DeviationOf(const SomeComparison& comparison) {
  return {comparison.Error(), comparison.Width(), comparison.InRange()};
}

Errors ErrorsOf(const std::vector<Deviation>& deviations) {
  std::vector<double> absolute;
  std::vector<double> with_sign;
  std::vector<double> widths;
  double inside = 0;
  for (const Deviation& deviation : deviations) {
    with_sign.push_back(deviation.error);
    absolute.push_back(std::abs(deviation.error));
    widths.push_back(deviation.width);
    inside += deviation.in_range ? 1 : 0;
  }
  std::sort(absolute.begin(), absolute.end());
  std::sort(widths.begin(), widths.end());
  Errors errors;
  errors.count = static_cast<std::int64_t>(deviations.size());
  if (deviations.empty()) return errors;
  errors.mean = Mean(absolute);
  errors.median = Quantile(absolute, 0.5);
  errors.p90 = Quantile(absolute, 0.9);
  errors.max = absolute.back();
  errors.bias = Mean(with_sign);
  errors.in_range = inside / static_cast<double>(deviations.size());
  errors.median_width = Quantile(widths, 0.5);
  return errors;
}

void Count(const Row& row, Outcomes& outcomes) {
  if (!row.prediction.refused.empty()) return;
  const verdict::Fit fit = row.prediction.fit;
  switch (row.record.measurement.outcome) {
    case Outcome::kFits:
      ++outcomes.fits;
      outcomes.fits_tight += fit == verdict::Fit::kTight ? 1 : 0;
      outcomes.fits_refuted += fit == verdict::Fit::kDoesNotFit ? 1 : 0;
      break;
    case Outcome::kOutOfMemory:
      ++outcomes.oom;
      outcomes.oom_tight += fit == verdict::Fit::kTight ? 1 : 0;
      outcomes.oom_missed += fit == verdict::Fit::kFits ? 1 : 0;
      break;
    case Outcome::kUnknown:
      break;
  }
}

// "fms" of "fms-a100-none-lora-…": ids begin with their source, where no table is named.
std::string SourceOf(const Record& record) {
  if (!record.run.group.empty()) return record.run.group;
  return record.run.id.substr(0, record.run.id.find('-'));
}

std::string NameOf(const Row& row, GroupBy by) {
  const Run& run = row.record.run;
  switch (by) {
    case GroupBy::kSource:
      return SourceOf(row.record);
    case GroupBy::kGpu:
      if (!row.prediction.gpu.empty()) return row.prediction.gpu;
      return run.gpu.empty() ? "not stated" : run.gpu;
    case GroupBy::kMethod:
      return run.method.empty() ? "not stated" : run.method;
    case GroupBy::kMeaning:
      return row.record.measurement.meaning.empty() ? "no number" : row.record.measurement.meaning;
    case GroupBy::kQuality:
      return run.quality.empty() ? "not stated" : run.quality;
  }
  return "";
}

struct Members {
  Group group;
  std::vector<Deviation> memory;
  std::vector<Deviation> time;
};

Group Finished(Members members, std::string name) {
  members.group.name = std::move(name);
  members.group.errors = ErrorsOf(members.memory);
  members.group.time = ErrorsOf(members.time);
  return std::move(members.group);
}

void Add(const Row& row, Members& members) {
  ++members.group.rows;
  members.group.refused += row.prediction.refused.empty() ? 0 : 1;
  if (row.main) members.memory.push_back(DeviationOf(*row.main));
  if (row.time) members.time.push_back(DeviationOf(*row.time));
  Count(row, members.group.outcomes);
}

}  // namespace

double Comparison::Error() const {
  return (Real(predicted.point) - Real(measured)) / Real(measured);
}

double Comparison::Width() const {
  return predicted.point == Bytes()
             ? 0
             : (Real(predicted.high) - Real(predicted.low)) / Real(predicted.point);
}

Row MakeRow(Record record, Prediction prediction) {
  Row row{std::move(record), std::move(prediction), std::nullopt, {}, std::nullopt};
  if (!row.prediction.refused.empty()) return row;
  const Measurement& measurement = row.record.measurement;
  if (measurement.outcome == Outcome::kOutOfMemory) return row;
  if (measurement.step && row.prediction.time) {
    const verdict::StepTime& time = *row.prediction.time;
    row.time = TimeComparison{*measurement.step, time.point, time.low, time.high};
  }
  const auto compare = [&](const Measured& measured, std::string meaning) {
    const auto reading = static_cast<std::size_t>(measured.reading);
    return Comparison{measured.reading, std::move(meaning), measured.bytes,
                      row.prediction.memory[reading]};
  };
  if (measurement.peak) row.main = compare(*measurement.peak, measurement.meaning);
  constexpr std::array<const char*, kReadings> kMeanings = {"max_allocated", "max_reserved",
                                                            "nvidia-smi"};
  for (const Measured& other : measurement.others) {
    row.others.push_back(compare(other, kMeanings.at(static_cast<std::size_t>(other.reading))));
  }
  return row;
}

std::string_view Name(GroupBy by) {
  constexpr std::array<std::string_view, 5> kNames = {"source", "gpu", "method", "meaning",
                                                      "quality"};
  return kNames.at(static_cast<std::size_t>(by));
}

std::optional<GroupBy> ParseGroupBy(std::string_view word) {
  for (const GroupBy by :
       {GroupBy::kSource, GroupBy::kGpu, GroupBy::kMethod, GroupBy::kMeaning, GroupBy::kQuality}) {
    if (Name(by) == word) return by;
  }
  return std::nullopt;
}

Group Summarize(const std::vector<Row>& rows) {
  Members members;
  for (const Row& row : rows) Add(row, members);
  return Finished(std::move(members), "all");
}

std::vector<Group> Summarize(const std::vector<Row>& rows, GroupBy by) {
  std::map<std::string, Members> members;
  for (const Row& row : rows) {
    Add(row, members[NameOf(row, by)]);
    if (by != GroupBy::kMeaning) continue;
    for (const Comparison& other : row.others) {
      Members& of_other = members[other.meaning];
      ++of_other.group.rows;
      of_other.memory.push_back(DeviationOf(other));
    }
  }
  std::vector<Group> groups;
  groups.reserve(members.size());
  for (auto& [name, of_name] : members) groups.push_back(Finished(std::move(of_name), name));
  return groups;
}

std::vector<Reason> Reasons(const std::vector<Row>& rows) {
  std::map<std::string, std::int64_t> counts;
  for (const Row& row : rows) {
    if (!row.prediction.refused.empty()) ++counts[row.prediction.refused];
  }
  std::vector<Reason> reasons;
  reasons.reserve(counts.size());
  for (const auto& [text, count] : counts) reasons.push_back({text, count});
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.rows > b.rows; });
  return reasons;
}

namespace {

// By a comparison that a row may have.
template <typename SomeComparison>
std::vector<std::size_t> WorstBy(const std::vector<Row>& rows, std::size_t count,
                                 std::optional<SomeComparison> Row::* comparison) {
  std::vector<std::size_t> order;
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].*comparison) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs((rows[a].*comparison)->Error()) > std::abs((rows[b].*comparison)->Error());
  });
  if (order.size() > count) order.resize(count);
  return order;
}

}  // namespace

std::vector<std::size_t> Worst(const std::vector<Row>& rows, std::size_t count) {
  return WorstBy(rows, count, &Row::main);
}

std::vector<std::size_t> WorstOfTime(const std::vector<Row>& rows, std::size_t count) {
  return WorstBy(rows, count, &Row::time);
}

}  // namespace trainfit::validate
