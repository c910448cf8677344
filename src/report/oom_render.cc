#include <algorithm>
#include <string>

#include "base/json_writer.h"
#include "report/describe.h"
#include "report/layout.h"
#include "report/numbers.h"
#include "report/oom.h"

namespace trainfit::report {
namespace {

constexpr int kIndent = 2;
constexpr int kLabel = 10;
constexpr std::size_t kShown = 5;

std::string Line(std::string_view label, const std::string& text, int width, const Style& style,
                 Tone tone = Tone::kPlain) {
  if (text.empty()) return "";
  return Paragraph(std::string(kIndent, ' ') + std::string(label), text, kIndent + kLabel, width,
                   style, tone);
}

std::string AmountsText(const Oom& oom) {
  std::vector<std::string> pieces;
  pieces.reserve(oom.amounts.size());
  for (const OomAmount& amount : oom.amounts) {
    pieces.push_back(GiB(amount.bytes) + " " + amount.what);
  }
  return Joined(pieces, "; ");
}

std::string FoundSection(const Oom& oom, const TextOptions& options, const Style& style) {
  if (oom.found.empty()) return "";
  Table table(kIndent, {{"what it can have been", Align::kLeft, 20},
                        {"when", Align::kLeft, 6},
                        {"its size", Align::kLeft, 14}});
  const std::size_t shown = options.explain ? oom.found.size() : std::min(kShown, oom.found.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const verdict::FoundAllocation& found = oom.found[i];
    std::string what = found.what;
    if (found.times > 1) what += ", " + WithCommas(found.times) + " times";
    table.Row({{what, i == 0 ? Tone::kStrong : Tone::kPlain}, {found.phase}, {found.formula}});
  }
  std::string text = "\n" + table.Text(options.width, style);
  if (shown < oom.found.size()) {
    text += Paragraph(std::string(kIndent, ' '),
                      "and " + std::to_string(oom.found.size() - shown) + " less likely: --explain",
                      kIndent, options.width, style);
  }
  return text;
}

}  // namespace

std::string OomText(const Oom& oom, const TextOptions& options) {
  const Style style(options.color);
  const int width = options.width;
  std::string text = Paragraph("", oom.headline, 0, width, style, Tone::kStrong) + "\n";
  text += Line("memory", AmountsText(oom), width, style);
  text +=
      Line("when", oom.moment.empty() ? "" : oom.moment + " (" + oom.evidence + ")", width, style);
  text += Line("pieces", oom.fragmentation, width, style);
  for (const std::string& note : oom.notes) text += Line("note", note, width, style);
  text += FoundSection(oom, options, style);
  text += oom.search.empty() ? "" : "\n" + Line("search", oom.search, width, style);
  if (!oom.ways.empty()) {
    text += "\n" + style(Tone::kStrong, "Ways out, best first") + "\n";
    int number = 0;
    for (const WayOut& way : oom.ways) {
      text += Paragraph("  " + std::to_string(++number) + ". ", way.change + ": " + way.why, 5,
                        width, style);
    }
  }
  return options.unicode ? text : ToAscii(text);
}

std::string OomJson(const Oom& oom) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "trainfit.oom/1");
  json.Field("kind", oom.kind);
  json.Field("headline", oom.headline);
  json.Field("moment", oom.moment);
  json.Field("evidence", oom.evidence);
  json.Key("requested_bytes");
  if (oom.requested) {
    json.Int(oom.requested->value());
  } else {
    json.Null();
  }
  json.Key("memory").BeginArray();
  for (const OomAmount& amount : oom.amounts) {
    json.BeginObject();
    json.Field("what", amount.what);
    json.Field("bytes", amount.bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Field("fragmentation", oom.fragmentation);
  json.Key("found").BeginArray();
  for (const verdict::FoundAllocation& found : oom.found) {
    json.BeginObject();
    json.Field("cause", verdict::Name(found.cause));
    json.Field("what", found.what);
    json.Field("formula", found.formula);
    json.Field("phase", found.phase);
    json.Field("bytes", found.bytes);
    json.Field("times", found.times);
    json.Field("from_program", found.is_from_program);
    json.Field("fits_moment", found.fits_moment);
    json.EndObject();
  }
  json.EndArray();
  json.Field("search", oom.search);
  json.Key("ways_out").BeginArray();
  for (const WayOut& way : oom.ways) {
    json.BeginObject();
    json.Field("change", way.change);
    json.Field("why", way.why);
    json.Field("evaluated", way.is_evaluated);
    json.EndObject();
  }
  json.EndArray();
  json.Key("notes").BeginArray();
  for (const std::string& note : oom.notes) json.String(note);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace trainfit::report
