#include "report/trace.h"

#include <cstdint>
#include <string_view>

#include "base/json_writer.h"

namespace trainfit::report {
namespace {

constexpr double kMicroseconds = 1e6;

void NameOf(JsonWriter& json, std::string_view what, std::int64_t process, std::int64_t track,
            std::string_view name) {
  json.BeginObject().Field("ph", "M").Field("name", what).Field("pid", process);
  json.Field("tid", track).Key("args").BeginObject().Field("name", name).EndObject();
  json.EndObject();
}

}  // namespace

std::string TraceJson(const std::vector<time::TraceProcess>& processes) {
  JsonWriter json(0);
  json.BeginObject().Field("displayTimeUnit", "ms").Key("traceEvents").BeginArray();
  std::int64_t number = 0;
  for (const time::TraceProcess& process : processes) {
    NameOf(json, "process_name", number, 0, process.name);
    std::int64_t track = 0;
    for (const std::string& name : process.tracks) {
      NameOf(json, "thread_name", number, track++, name);
    }
    for (const time::TraceSpan& span : process.spans) {
      json.BeginObject().Field("ph", "X").Field("name", span.name).Field("cat", span.category);
      json.Field("pid", number).Field("tid", span.track);
      json.Field("ts", span.begin.value() * kMicroseconds);
      json.Field("dur", (span.end - span.begin).value() * kMicroseconds).EndObject();
    }
    ++number;
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace trainfit::report
