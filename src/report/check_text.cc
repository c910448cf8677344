#include <algorithm>
#include <string>

#include "report/check.h"
#include "report/deciding.h"
#include "report/describe.h"
#include "report/fit_sections.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace trainfit::report {
namespace {

constexpr int kIndent = 2;
constexpr int kLabel = 10;

std::string Line(std::string_view label, const std::string& text, int width, const Style& style,
                 Tone tone = Tone::kPlain) {
  return Paragraph(std::string(kIndent, ' ') + std::string(label), text, kIndent + kLabel, width,
                   style, tone);
}

std::string FilesText(const Check& check) {
  std::vector<std::string> pieces;
  pieces.reserve(check.files.size());
  for (const CheckedFile& file : check.files) pieces.push_back(file.path + " (" + file.tool + ")");
  return Joined(pieces);
}

// "sft.yaml:3:1: error…": places are given once, as file:line.
std::string ShortPlace(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool has_two = colon != std::string::npos && place.find(':') != colon;
  return has_two ? place.substr(0, colon) : place;
}

// The end of a dotted path, which its line in the file makes clear: "sub_group_size".
std::string ShortKey(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos || dot == 0) return key;
  std::string last = key.substr(dot + 1);
  if (last != "enabled" && last != "device" && last != "type") return last;
  const std::size_t before = key.rfind('.', dot - 1);
  return before == std::string::npos ? key : key.substr(before + 1);
}

std::string UnderstoodSection(const Check& check, int width, const Style& style) {
  Table table(kIndent, {{"where"}, {"what", Align::kLeft, 16}, {"taken for", Align::kLeft, 12}});
  for (const CheckedKey& key : check.keys) {
    if (key.fate != "understood") continue;
    table.Row(
        {{ShortPlace(key.place), Tone::kDim}, {ShortKey(key.key) + ": " + key.value}, {key.note}});
  }
  return table.empty() ? "" : "\n" + table.Text(width, style);
}

std::string FilledInSection(const Check& check, const TextOptions& options, const Style& style) {
  if (check.filled_in.empty()) return "";
  if (!options.explain) {
    std::vector<std::string> pieces;
    pieces.reserve(check.filled_in.size());
    for (const CheckedDefault& row : check.filled_in) pieces.push_back(row.what + ": " + row.value);
    return "\n" + style(Tone::kStrong, "Filled in, as the tools do (sources: --explain)") + "\n" +
           Paragraph(std::string(kIndent, ' '), Joined(pieces, "; "), kIndent, options.width,
                     style);
  }
  Table table(kIndent, {{"filled in", Align::kLeft, 12}, {"value", Align::kLeft, 8}});
  for (const CheckedDefault& row : check.filled_in) {
    table.Row({{row.what}, {row.value}});
    table.Note(row.source);
  }
  return "\n" + table.Text(options.width, style);
}

std::string KeysWith(const Check& check, std::string_view fate) {
  std::vector<std::string> names;
  for (const CheckedKey& key : check.keys) {
    if (key.fate == fate) names.push_back(ShortKey(key.key));
  }
  return Joined(names);
}

// Costs that are said by name, as they are in none of the numbers above.
std::string NotCountedSection(const Check& check, int width, const Style& style) {
  std::vector<std::string> notes;
  std::vector<std::string> keys;
  for (const CheckedKey& key : check.keys) {
    if (key.fate != "not_counted") continue;
    const auto at = std::find(notes.begin(), notes.end(), key.note);
    if (at == notes.end()) {
      notes.push_back(key.note);
      keys.push_back(ShortKey(key.key));
    } else {
      keys[static_cast<std::size_t>(at - notes.begin())] += ", " + ShortKey(key.key);
    }
  }
  std::vector<std::string> pieces;
  pieces.reserve(notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) pieces.push_back(notes[i] + " (" + keys[i] + ")");
  if (pieces.empty()) return "";
  return Line("not in it", Joined(pieces, "; "), width, style, Tone::kWarn);
}

std::string UnknownSection(const Check& check, int width, const Style& style) {
  std::string text;
  for (const CheckedKey& key : check.keys) {
    if (key.fate != "unknown") continue;
    std::string line = key.place + ": " + key.key;
    line += key.note.empty() ? " is no key of the tool" : ", no key of the tool: " + key.note + "?";
    text += Line("unknown", line, width, style, Tone::kWarn);
  }
  return text;
}

std::string RemainderSection(const Check& check, int width, const Style& style) {
  std::string text = UnknownSection(check, width, style);
  for (const Diagnostic& warning : check.warnings) {
    std::string line = warning.span.file;
    if (warning.span.line > 0) line += ":" + std::to_string(warning.span.line);
    text += Line("warning", line + ": " + warning.message, width, style, Tone::kWarn);
  }
  text += NotCountedSection(check, width, style);
  const std::string without = KeysWith(check, "no_effect");
  if (!without.empty()) text += Line("no effect", without, width, style, Tone::kDim);
  return text.empty() ? text : "\n" + text;
}

std::string ChangesText(const OwnRemedy& remedy) {
  std::vector<std::string> pieces;
  pieces.reserve(remedy.changes.size());
  for (const OwnChange& change : remedy.changes) pieces.push_back(change.text);
  return pieces.empty() ? remedy.remedy.change : Joined(pieces);
}

std::string OwnRemediesSection(const Check& check, int width, const Style& style) {
  if (check.remedies.empty()) return "";
  Table table(kIndent, {{""},
                        {"GiB", Align::kRight},
                        {"saves", Align::kRight},
                        {"change", Align::kLeft, 16},
                        {"at the cost of", Align::kLeft, 12}});
  std::vector<std::string> not_enough;
  for (const OwnRemedy& own : check.remedies) {
    if (own.remedy.fit == verdict::Fit::kDoesNotFit) {
      not_enough.push_back(ChangesText(own) + " (" + GiB(own.remedy.point) + ")");
      continue;
    }
    table.Row({{std::string(FitWord(own.remedy.fit)), FitTone(own.remedy.fit)},
               {GiBColumn(own.remedy.point)},
               {GiBColumn(own.remedy.saves)},
               {ChangesText(own), Tone::kStrong},
               {own.remedy.cost}});
  }
  std::string text =
      "\n" + style(Tone::kStrong, "One change at a time, each evaluated anew") + "\n";
  if (!table.empty()) text += table.Text(width, style);
  if (!not_enough.empty()) {
    text += Paragraph(std::string(kIndent, ' ') + "not enough:", Joined(not_enough, "; "), 14,
                      width, style);
  }
  return text;
}

std::string WrittenSection(const Check& check, int width, const Style& style) {
  if (check.written_to.empty()) return "";
  std::vector<std::string> pieces;
  pieces.reserve(check.written.size());
  for (const OwnChange& change : check.written) pieces.push_back(change.text);
  return "\n" +
         Line("written",
              check.written_to + " with " + Joined(pieces) + "; then it " + check.written_fit,
              width, style, Tone::kGood);
}

std::string DifferenceSection(const Check& check, int width, const Style& style) {
  if (!check.difference) return "";
  const verdict::Difference& difference = *check.difference;
  std::string text = "\n" +
                     style(Tone::kStrong, "Why another figure, " + GiBAndGB(difference.figure) +
                                              ", is not this one") +
                     "\n";
  Table table(kIndent, {{"if", Align::kLeft, 20}, {"it needs, GiB", Align::kRight}, {""}});
  for (const verdict::OtherAssumption& row : difference.alone) {
    table.Row({{row.words}, {GiBColumn(row.bytes)}, {row.is_in_nearest ? "*" : ""}});
  }
  if (!table.empty()) text += table.Text(width, style);
  const std::string nearest =
      difference.is_explained ? "with those marked * together it needs " + GiB(difference.nearest)
                              : "no usual assumptions lead to it: the nearest is " +
                                    GiB(difference.nearest) + ", with those marked * together";
  return text + Line("together", nearest, width, style);
}

}  // namespace

std::string CheckText(const Check& check, const TextOptions& options) {
  const Style style(options.color);
  const verdict::Answer& answer = check.answer;
  const DecidingPlace deciding = FindDecidingPlace(answer);
  std::string text;
  if (deciding.place == nullptr) {
    text = style(FitTone(verdict::Fit::kUnknown), "Unknown: no phase could be evaluated.") + "\n";
  } else {
    text = HeadlineSection(answer, deciding, options.width, style);
  }
  text += "\n" + Line("read", FilesText(check), options.width, style);
  text += SubjectSection(answer, options, style);
  text += WarningsSection(answer.warnings, options.width, style);
  if (deciding.place != nullptr) {
    text += "\n" + ReadingsSection(*deciding.place, options.width, style);
    text += OtherPlacesSection(answer, *deciding.place, options.width, style);
  }
  text += LimitsSection(answer, options.width, style);
  text += OwnRemediesSection(check, options.width, style);
  text += WrittenSection(check, options.width, style);
  text += DifferenceSection(check, options.width, style);
  text += UnderstoodSection(check, options.width, style);
  text += FilledInSection(check, options, style);
  text += RemainderSection(check, options.width, style);
  text += AssumptionsSection(answer.assumptions, options, style);
  return options.unicode ? text : ToAscii(text);
}

}  // namespace trainfit::report
