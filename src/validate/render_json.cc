#include "base/json_writer.h"
#include "validate/labels.h"
#include "validate/render.h"

namespace trainfit::validate {
namespace {

void WriteEstimate(const verdict::Estimate& estimate, JsonWriter& json) {
  json.BeginObject().Field("point_bytes", estimate.point).Field("low_bytes", estimate.low);
  json.Field("high_bytes", estimate.high).EndObject();
}

void WriteComparison(const Comparison& comparison, JsonWriter& json) {
  json.BeginObject().Field("reading", Name(comparison.reading));
  json.Field("meaning", comparison.meaning).Field("measured_bytes", comparison.measured);
  json.Field("error", comparison.Error()).Field("in_range", comparison.InRange()).EndObject();
}

void WriteRow(const Row& row, JsonWriter& json) {
  json.BeginObject().Field("id", row.record.run.id);
  const bool is_refused = !row.prediction.refused.empty();
  if (is_refused) {
    json.Field("refused", row.prediction.refused);
  } else {
    json.Key("refused").Null();
  }
  json.Key("memory").BeginObject();
  for (std::size_t i = 0; i < kReadings && !is_refused; ++i) {
    json.Key(Name(static_cast<Reading>(i)));
    WriteEstimate(row.prediction.memory[i], json);
  }
  json.EndObject().Key("step_seconds");
  if (row.prediction.time) {
    const verdict::StepTime& time = *row.prediction.time;
    json.BeginObject().Field("point", time.point.value()).Field("low", time.low.value());
    json.Field("high", time.high.value()).EndObject();
  } else {
    json.Null();
  }
  if (row.time) {
    json.Key("step_compared").BeginObject();
    json.Field("measured", row.time->measured.value()).Field("error", row.time->Error());
    json.Field("in_range", row.time->InRange()).EndObject();
  }
  json.Key("verdicts").BeginObject();
  for (const PlaceVerdict& verdict : row.prediction.verdicts) {
    json.Key(verdict.where).BeginObject().Field("verdict", verdict::Name(verdict.fit));
    json.Field("point_fits", verdict.point_fits).EndObject();
  }
  json.EndObject().Key("compared").BeginArray();
  if (row.main) WriteComparison(*row.main, json);
  for (const Comparison& other : row.others) WriteComparison(other, json);
  json.EndArray().EndObject();
}

void WriteErrors(const Errors& errors, JsonWriter& json) {
  json.Field("compared", errors.count);
  json.Field("mean_error", errors.mean).Field("median_error", errors.median);
  json.Field("p90_error", errors.p90).Field("max_error", errors.max);
  json.Field("bias", errors.bias).Field("in_range", errors.in_range);
  json.Field("median_width", errors.median_width);
}

void WriteGroup(const Group& group, JsonWriter& json) {
  json.BeginObject().Field("name", group.name).Field("rows", group.rows);
  json.Field("refused", group.refused);
  WriteErrors(group.errors, json);
  json.Key("step_seconds").BeginObject();
  WriteErrors(group.time, json);
  json.EndObject();
  const Outcomes& o = group.outcomes;
  json.Key("verdicts").BeginObject().Field("fits", o.fits).Field("fits_tight", o.fits_tight);
  json.Field("fits_refuted", o.fits_refuted).Field("oom", o.oom).Field("oom_tight", o.oom_tight);
  json.Field("oom_missed", o.oom_missed).EndObject().EndObject();
}

void WriteGroups(const Validation& validation, GroupBy by, JsonWriter& json) {
  json.Key("by_" + std::string(Name(by))).BeginArray();
  for (const Group& group : Summarize(validation.rows, by)) WriteGroup(group, json);
  json.EndArray();
}

void WriteReports(const ReportScore& score, JsonWriter& json) {
  json.Key("reports").BeginObject().Field("step_failures", score.step_failures);
  json.Field("step_called", score.step_called).Field("step_ran", score.step_ran);
  json.Field("false_alarms", score.false_alarms).Field("other_failures", score.other_failures);
  json.Field("other_named", score.other_named).Field("refused", score.refused).EndObject();
}

}  // namespace

std::string ValidationJson(const Validation& validation) {
  JsonWriter json;
  json.BeginObject().Field("schema", "trainfit-validate-1").Key("files").BeginArray();
  for (const std::string& file : validation.files) json.String(file);
  json.EndArray().Key("rows").BeginArray();
  for (const Row& row : validation.rows) WriteRow(row, json);
  json.EndArray().Key("summaries").BeginObject().Key("all");
  WriteGroup(Summarize(validation.rows), json);
  for (const GroupBy by :
       {GroupBy::kSource, GroupBy::kGpu, GroupBy::kMethod, GroupBy::kMeaning, GroupBy::kQuality}) {
    WriteGroups(validation, by, json);
  }
  json.EndObject();
  WriteReports(ScoreReports(validation.rows), json);
  json.Key("refused").BeginArray();
  for (const Reason& reason : Reasons(validation.rows)) {
    json.BeginObject().Field("reason", reason.text).Field("rows", reason.rows).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace trainfit::validate
