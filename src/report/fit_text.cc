#include <algorithm>
#include <optional>
#include <string>

#include "report/bar.h"
#include "report/date.h"
#include "report/deciding.h"
#include "report/describe.h"
#include "report/fit.h"
#include "report/fit_sections.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace trainfit::report {
namespace {

using verdict::Answer;
using verdict::Fit;
using verdict::PartBytes;
using verdict::PlaceAnswer;

constexpr int kIndent = 2;
constexpr int kLabel = 10;  // width of the labels at the left
constexpr int kPartBar = 24;

// "the card has", as said between the need and the capacity.
std::string OwnerText(const Answer& answer, const PlaceAnswer& place) {
  switch (place.place) {
    case program::Place::kGpu:
      return answer.machine.Gpus() > 1 ? "each card has" : "the card has";
    case program::Place::kHost:
      return "the host RAM is";
    case program::Place::kPinned:
      return "pinned RAM may be";
    case program::Place::kDisk:
      return "the disk has";
  }
  return "there are";
}

// "Does not fit on the first stage in phase save": the verdict and where it comes from, as far as
// it is not the ordinary case (every rank, steady step).
std::string VerdictWords(const Answer& answer, const DecidingPlace& deciding) {
  std::string text(FitWord(answer.fit));
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (deciding.phase->ranks.size() > 1) text += " on " + deciding.rank->role;
  if (deciding.phase->phase != program::Phase::kSteadyStep) {
    text += " in phase " + PhaseText(deciding.phase->phase);
  }
  return text;
}

// What follows the verdict: the need, the capacity, and how they compare.
std::string ReasonText(const Answer& answer, const PlaceAnswer& place) {
  if (!place.capacity) {
    return "needs " + GiB(place.bytes.point) + "; how much " + OwnerText(answer, place) +
           " is not known";
  }
  const Bytes capacity = *place.capacity;
  const GiBPair pair = DistinctGiB(place.bytes.point, capacity);
  std::string text =
      "needs " + pair.first + ", " + OwnerText(answer, place) + " " + pair.second + "; ";
  switch (answer.fit) {
    case Fit::kDoesNotFit:
      return text + GiB(place.bytes.point - capacity) + " short";
    case Fit::kTight:
      return text + "the range is " + GiBRange(place.bytes.low, place.bytes.high);
    case Fit::kFits:
    case Fit::kUnknown:
      return text + GiB(capacity - place.bytes.high) + " free at the upper end";
  }
  return text;
}

// What no setting of the batch can change is said at once.
std::string FloorText(const Answer& answer, const PlaceAnswer& place) {
  if (answer.fit != Fit::kDoesNotFit || place.parts.empty()) return "";
  std::string text =
      "Largest part: " + place.parts[0].name + ", " + GiB(place.parts[0].bytes) + ".";
  const bool was_searched = !answer.remedies.empty() || answer.limits.min_gpus.has_value();
  if (was_searched && !answer.limits.max_micro_batch) text += " Not even micro-batch 1 fits.";
  return text;
}

std::string GaugeSection(const PlaceAnswer& place, int width, const Style& style) {
  if (!place.capacity || place.parts.empty()) return "";
  Gauge gauge;
  for (const PartBytes& part : place.parts) gauge.parts.push_back(part.bytes);
  gauge.high = place.bytes.high;
  gauge.capacity = *place.capacity;
  const std::string label = GiB(*place.capacity);
  return "\n" + GaugeText(gauge, label, kIndent, width - 2 * kIndent, style);
}

std::string PartsSection(const PlaceAnswer& place, const TextOptions& options, const Style& style) {
  Table table(kIndent,
              {{"part", Align::kLeft, 12}, {"GiB", Align::kRight}, {"share", Align::kRight}, {""}});
  const std::int64_t total = std::max<std::int64_t>(1, place.bytes.point.value());
  std::int64_t largest = 1;
  for (const PartBytes& part : place.parts) largest = std::max(largest, part.bytes.value());
  for (std::size_t i = 0; i < place.parts.size(); ++i) {
    const PartBytes& part = place.parts[i];
    const double fraction = static_cast<double>(part.bytes.value()) / static_cast<double>(largest);
    table.Row({{part.name},
               {GiBColumn(part.bytes)},
               {Percent(part.bytes.value(), total)},
               {Bar(fraction, kPartBar), PartTone(i)}});
    if (!options.explain) continue;
    if (!part.formula.empty()) table.Note(part.formula);
    table.Note(BasisText(part.basis, part.source));
  }
  table.Row({{"total", Tone::kStrong},
             {GiBColumn(place.bytes.point), Tone::kStrong},
             {Percent(total, total)},
             {"= " + GiBAndGB(place.bytes.point)}});
  return "\n" + table.Text(options.width, style);
}

}  // namespace

std::string HeadlineSection(const Answer& answer, const DecidingPlace& deciding, int width,
                            const Style& style) {
  const std::string verdict = VerdictWords(answer, deciding) + ":";
  std::string text =
      Paragraph("", verdict + " " + ReasonText(answer, *deciding.place), 0, width, Style(false));
  text = style(FitTone(answer.fit), verdict) + text.substr(verdict.size());
  const std::string floor = FloorText(answer, *deciding.place);
  if (!floor.empty()) text += Paragraph("", floor, 0, width, style);
  return text;
}

std::string SubjectSection(const Answer& answer, const TextOptions& options, const Style& style) {
  std::string hardware = HardwareText(answer.machine);
  if (answer.machine.price && IsStalePrice(answer.machine.price_date, options.today)) {
    hardware += "; this price is older than " + std::to_string(kStalePriceDays) + " days";
  }
  const auto line = [&](std::string_view label, const std::string& text) {
    return Paragraph(std::string(kIndent, ' ') + std::string(label), text, kIndent + kLabel,
                     options.width, style);
  };
  return line("model", ModelText(*answer.plan.model)) + line("method", MethodText(answer.plan)) +
         line("batch", BatchText(answer.plan)) + line("with", ChoicesText(answer.plan)) +
         line("on", hardware) + line("stack", answer.plan.facts.stack().Text());
}

std::string FitText(const Answer& answer, const TextOptions& options) {
  const Style style(options.color);
  const DecidingPlace deciding = FindDecidingPlace(answer);
  std::string text;
  if (deciding.place == nullptr) {
    text = style(FitTone(Fit::kUnknown), "Unknown: no phase could be evaluated.") + "\n";
    text += "\n" + SubjectSection(answer, options, style);
  } else {
    text = HeadlineSection(answer, deciding, options.width, style);
    text += "\n" + SubjectSection(answer, options, style);
    text += WarningsSection(answer.warnings, options.width, style);
    text += GaugeSection(*deciding.place, options.width, style);
    text += PartsSection(*deciding.place, options, style);
    text += "\n" + ReadingsSection(*deciding.place, options.width, style);
    text += OtherPlacesSection(answer, *deciding.place, options.width, style);
  }
  text += TimeSection(answer, options, style);
  text += LimitsSection(answer, options.width, style);
  text += RemediesSection(answer, options, style);
  text += AssumptionsSection(answer.assumptions, options, style);
  return options.unicode ? text : ToAscii(text);
}

}  // namespace trainfit::report
