#include <string>

#include "base/json_writer.h"
#include "report/check.h"
#include "report/json_pieces.h"

namespace trainfit::report {
namespace {

void WriteChanges(const std::vector<OwnChange>& changes, JsonWriter* json) {
  json->BeginArray();
  for (const OwnChange& change : changes) {
    json->BeginObject();
    json->Field("file", change.file);
    json->Field("text", change.text);
    json->EndObject();
  }
  json->EndArray();
}

void WriteDifference(const std::optional<verdict::Difference>& difference, JsonWriter* json) {
  if (!difference) {
    json->Null();
    return;
  }
  json->BeginObject();
  json->Field("figure_bytes", difference->figure);
  json->Field("nearest_bytes", difference->nearest);
  json->Field("explained", difference->is_explained);
  json->Key("assumptions").BeginArray();
  for (const verdict::OtherAssumption& row : difference->alone) {
    json->BeginObject();
    json->Field("if", row.words);
    json->Field("bytes", row.bytes);
    json->Field("in_nearest", row.is_in_nearest);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace

std::string CheckJson(const Check& check) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "trainfit.check/1");
  json.Key("files").BeginArray();
  for (const CheckedFile& file : check.files) {
    json.BeginObject();
    json.Field("path", file.path);
    json.Field("tool", file.tool);
    json.EndObject();
  }
  json.EndArray();
  json.Key("keys").BeginArray();
  for (const CheckedKey& key : check.keys) {
    json.BeginObject();
    json.Field("at", key.place);
    json.Field("key", key.key);
    json.Field("value", key.value);
    json.Field("taken", key.fate);
    json.Field("note", key.note);
    json.EndObject();
  }
  json.EndArray();
  json.Key("filled_in").BeginArray();
  for (const CheckedDefault& row : check.filled_in) {
    json.BeginObject();
    json.Field("what", row.what);
    json.Field("value", row.value);
    json.Field("source", row.source);
    json.EndObject();
  }
  json.EndArray();
  json.Key("conflicts").BeginArray();
  for (const Diagnostic& warning : check.warnings) json.String(warning.message);
  json.EndArray();
  json.Key("own_words").BeginArray();
  for (const OwnRemedy& own : check.remedies) {
    json.BeginObject();
    json.Field("change", own.remedy.change);
    json.Field("verdict", verdict::Name(own.remedy.fit));
    json.Key("edits");
    WriteChanges(own.changes, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("difference");
  WriteDifference(check.difference, &json);
  json.Key("fit");
  WriteFit(check.answer, &json);
  json.EndObject();
  return json.Take();
}

}  // namespace trainfit::report
