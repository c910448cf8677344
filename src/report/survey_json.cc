#include "base/json_writer.h"
#include "report/json_pieces.h"
#include "report/survey.h"

namespace trainfit::report {
namespace {

void WriteHolder(std::string_view key, const std::optional<verdict::Holder>& holder,
                 JsonWriter* json) {
  json->Key(key);
  if (!holder) {
    json->Null();
    return;
  }
  json->BeginObject();
  json->Field("gpu", holder->gpu.id);
  json->Field("gpus", holder->gpus);
  json->Field("verdict", verdict::Name(holder->fit));
  json->Key("per_gpu").BeginObject();
  WriteEstimateFields(holder->per_gpu, json);
  json->EndObject();
  json->Field("usable_bytes_per_gpu", holder->gpu.memory_usable);
  WritePrice("usd_per_hour", holder->price, json);
  json->Key("offer");
  if (holder->offer) {
    json->BeginObject();
    json->Field("id", holder->offer->id);
    json->Field("provider", holder->offer->provider);
    json->Field("tier", holder->offer->tier);
    json->Field("price_date", holder->offer->price_date);
    json->Field("source", holder->offer->source);
    json->EndObject();
  } else {
    json->Null();
  }
  json->EndObject();
}

void WriteRow(const verdict::SurveyRow& row, JsonWriter* json) {
  json->BeginObject();
  json->Field("name", row.name);
  json->Key("recipe");
  WriteRecipe(row.plan, json);
  json->Field("trainable_params", row.trainable);
  WriteEstimateFields(row.one_gpu, json);
  json->Key("parts");
  WriteParts(row.parts, json);
  WriteHolder("smallest", row.smallest, json);
  WriteHolder("cheapest", row.cheapest, json);
  json->EndObject();
}

}  // namespace

std::string SurveyJson(const verdict::Survey& survey) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "trainfit.survey/1");
  if (!survey.rows.empty()) {
    const plan::Plan& plan = survey.rows.front().plan;
    json.Key("stack");
    WriteStack(plan.facts.stack(), &json);
    json.Key("model");
    WriteModel(*plan.model, std::nullopt, &json);
  }
  json.Key("rows").BeginArray();
  for (const verdict::SurveyRow& row : survey.rows) WriteRow(row, &json);
  json.EndArray();
  json.Key("assumptions");
  WriteAssumptions(survey.assumptions, &json);
  json.Key("warnings");
  WriteWarnings(survey.warnings, &json);
  json.EndObject();
  return json.Take();
}

}  // namespace trainfit::report
