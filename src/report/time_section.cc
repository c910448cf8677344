#include <fmt/format.h>

#include "report/fit_sections.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace trainfit::report {
namespace {

constexpr int kLabelEnd = 12;  // where texts begin after their labels

std::string Line(std::string_view label, const std::string& text, int width, const Style& style) {
  return Paragraph("  " + std::string(label), text, kLabelEnd, width, style);
}

// Three digits, in the unit that people would use.
std::string SecondsText(Seconds time) {
  const double s = time.value();
  if (s < 1) return fmt::format("{:.3g} ms", 1000 * s);
  return fmt::format("{:.3g} s", s);
}

// "1.4–1.9 s": the unit is said once where both ends have the same.
std::string RangeText(Seconds low, Seconds high) {
  const std::string from = SecondsText(low);
  const std::string to = SecondsText(high);
  const std::size_t space = from.find(' ');
  const bool same = from.substr(space) == to.substr(to.find(' '));
  return (same ? from.substr(0, space) : from) + "–" + to;
}

std::string SharesText(const std::vector<verdict::StepTime::Share>& shares) {
  constexpr double kLeastShown = 0.005;
  std::string text;
  for (const auto& [name, share] : shares) {
    if (share < kLeastShown) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, 100 * share);
  }
  return text;
}

}  // namespace

std::string TimeSection(const verdict::Answer& answer, const TextOptions& options,
                        const Style& style) {
  if (!answer.time) {
    if (answer.time_unknown.empty()) return "";
    return "\n" + Line("time", "not known: " + answer.time_unknown, options.width, style);
  }
  const verdict::StepTime& time = *answer.time;
  std::string text =
      "\n" + Line("time",
                  fmt::format("{} a step ({}); {} tokens/s; MFU {:.0f} %, HFU {:.0f} %",
                              SecondsText(time.point), RangeText(time.low, time.high),
                              WithCommas(static_cast<std::int64_t>(time.tokens_per_second)),
                              100 * time.mfu, 100 * time.hfu),
                  options.width, style);
  text += Line("bound by", time.bottleneck, options.width, style);
  if (options.explain) {
    text += Line("spent on", SharesText(time.by_class), options.width, style);
  }
  return text;
}

}  // namespace trainfit::report
