#include "base/json_writer.h"
#include "report/fit.h"
#include "report/json_pieces.h"

namespace trainfit::report {
namespace {

void WriteReadings(const std::optional<verdict::Readings>& readings, JsonWriter* json) {
  json->Key("readings");
  if (!readings) {
    json->Null();
    return;
  }
  const auto reading = [json](std::string_view name, const verdict::Estimate& estimate) {
    json->Key(name).BeginObject();
    WriteEstimateFields(estimate, json);
    json->EndObject();
  };
  json->BeginObject();
  reading("allocated", readings->allocated);
  reading("reserved", readings->reserved);
  reading("nvidia_smi", readings->nvidia_smi);
  json->EndObject();
}

void WritePlace(const verdict::PlaceAnswer& place, JsonWriter* json) {
  json->BeginObject();
  json->Field("place", program::Name(place.place));
  json->Field("scope", place.scope);
  json->Field("verdict", verdict::Name(place.fit));
  WriteEstimateFields(place.bytes, json);
  json->Key("capacity_bytes");
  if (place.capacity) {
    json->Int(place.capacity->value());
  } else {
    json->Null();
  }
  json->Field("peak_moment", place.peak_moment);
  json->Key("parts");
  WriteParts(place.parts, json);
  WriteReadings(place.readings, json);
  json->EndObject();
}

void WritePhase(const verdict::PhaseAnswer& phase, JsonWriter* json) {
  json->BeginObject();
  json->Field("phase", program::Name(phase.phase));
  json->Key("ranks").BeginArray();
  for (const verdict::RankAnswer& rank : phase.ranks) {
    json->BeginObject();
    json->Field("role", rank.role);
    json->Field("count", rank.count);
    json->Key("places").BeginArray();
    for (const verdict::PlaceAnswer& place : rank.places) WritePlace(place, json);
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteShares(std::string_view key, const std::vector<verdict::StepTime::Share>& shares,
                 JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const auto& [name, share] : shares) {
    json->BeginObject().Field("name", name).Field("share", share).EndObject();
  }
  json->EndArray();
}

void WriteTime(const verdict::Answer& answer, JsonWriter* json) {
  json->Key("time");
  if (!answer.time) {
    json->Null();
    return;
  }
  const verdict::StepTime& time = *answer.time;
  json->BeginObject();
  json->Key("step_seconds").BeginObject().Field("point", time.point.value());
  json->Field("low", time.low.value()).Field("high", time.high.value()).EndObject();
  json->Field("tokens_per_second", time.tokens_per_second);
  json->Field("mfu", time.mfu).Field("hfu", time.hfu);
  WriteShares("bound_by", time.bound_by, json);
  WriteShares("spent_on", time.by_class, json);
  json->Field("bottleneck", time.bottleneck);
  json->EndObject();
}

void WriteLimits(const verdict::Limits& limits, JsonWriter* json) {
  json->BeginObject();
  WriteOptional("max_micro_batch", limits.max_micro_batch, json);
  WriteOptional("max_seq_len", limits.max_sequence_length, json);
  WriteOptional("min_gpus", limits.min_gpus, json);
  json->EndObject();
}

void WriteRemedies(const std::vector<verdict::Remedy>& remedies, JsonWriter* json) {
  json->BeginArray();
  for (const verdict::Remedy& remedy : remedies) {
    json->BeginObject();
    json->Field("change", remedy.change);
    json->Field("cost", remedy.cost);
    json->Field("verdict", verdict::Name(remedy.fit));
    json->Field("point_bytes", remedy.point);
    json->Field("saves_bytes", remedy.saves);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

void WriteFit(const verdict::Answer& answer, JsonWriter* json) {
  json->BeginObject();
  json->Field("schema", "trainfit.fit/1");
  json->Key("stack");
  WriteStack(answer.plan.facts.stack(), json);
  json->Field("verdict", verdict::Name(answer.fit));
  json->Key("model");
  WriteModel(*answer.plan.model, plan::TrainableParameterCount(answer.plan), json);
  json->Key("recipe");
  WriteRecipe(answer.plan, json);
  json->Key("machine");
  WriteMachine(answer.machine, json);
  json->Key("phases").BeginArray();
  for (const verdict::PhaseAnswer& phase : answer.phases) WritePhase(phase, json);
  json->EndArray();
  WriteTime(answer, json);
  json->Key("limits");
  WriteLimits(answer.limits, json);
  json->Key("remedies");
  WriteRemedies(answer.remedies, json);
  json->Key("assumptions");
  WriteAssumptions(answer.assumptions, json);
  json->Key("warnings");
  WriteWarnings(answer.warnings, json);
  json->EndObject();
}

std::string FitJson(const verdict::Answer& answer) {
  JsonWriter json;
  WriteFit(answer, &json);
  return json.Take();
}

}  // namespace trainfit::report
