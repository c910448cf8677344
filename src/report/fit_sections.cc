#include "report/fit_sections.h"

#include "report/describe.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace trainfit::report {
namespace {

using verdict::Answer;
using verdict::Estimate;
using verdict::PlaceAnswer;

constexpr int kIndent = 2;
constexpr int kLabel = 10;
constexpr int kNotEnough = 12;

std::string Title(const Style& style, std::string_view text) {
  return "\n" + style(Tone::kStrong, text) + "\n";
}

std::string RangeText(const Estimate& estimate) { return GiBRange(estimate.low, estimate.high); }

// Of the host and the disk the phase with most is enough. What does not fit is always said.
bool IsSaid(const Answer& answer, const PlaceAnswer& place) {
  const bool fits = place.fit == verdict::Fit::kFits || place.fit == verdict::Fit::kUnknown;
  if (!fits) return true;
  if (place.place == program::Place::kPinned) return false;  // a part of the host's
  if (place.place == program::Place::kGpu) return true;
  const PlaceAnswer* most = nullptr;
  for (const verdict::PhaseAnswer& other : answer.phases) {
    for (const verdict::RankAnswer& rank : other.ranks) {
      for (const PlaceAnswer& candidate : rank.places) {
        const bool is_more = most == nullptr || candidate.bytes.point > most->bytes.point;
        if (candidate.place == place.place && is_more) most = &candidate;
      }
    }
  }
  return most == &place;
}

}  // namespace

std::string BasisText(Basis basis, const std::string& source) {
  std::string text(Name(basis));
  if (!source.empty()) text += ": " + source;
  return text;
}

std::string WarningsSection(const std::vector<std::string>& warnings, int width,
                            const Style& style) {
  std::string text;
  for (const std::string& warning : warnings) {
    text += Paragraph(std::string(kIndent, ' ') + "warning", warning, kIndent + kLabel, width,
                      style, Tone::kWarn);
  }
  return text.empty() ? text : "\n" + text;
}

std::string ReadingsSection(const PlaceAnswer& place, int width, const Style& style) {
  Table table(kIndent, {{"reading"}, {"GiB", Align::kRight}, {"90 % range", Align::kRight}});
  const auto row = [&table](std::string name, const Estimate& estimate) {
    table.Row({{std::move(name)}, {GiBColumn(estimate.point)}, {RangeText(estimate)}});
  };
  if (place.readings) {
    row("torch allocated", place.readings->allocated);
    row("torch reserved", place.readings->reserved);
    row("nvidia-smi", place.readings->nvidia_smi);
  } else {
    row(std::string(PlaceText(place.place)), place.bytes);
  }
  std::string text = table.Text(width, style);
  if (!place.peak_moment.empty()) {
    text += Paragraph(std::string(kIndent, ' ') + "peak at", place.peak_moment, kIndent + kLabel,
                      width, style);
  }
  return text;
}

std::string OtherPlacesSection(const Answer& answer, const PlaceAnswer& shown, int width,
                               const Style& style) {
  Table table(kIndent, {{"other phases and places", Align::kLeft, 16},
                        {"GiB", Align::kRight},
                        {"90 % range", Align::kRight},
                        {"there is", Align::kRight},
                        {""}});
  for (const verdict::PhaseAnswer& phase : answer.phases) {
    for (const verdict::RankAnswer& rank : phase.ranks) {
      for (const PlaceAnswer& place : rank.places) {
        if (&place == &shown || !IsSaid(answer, place)) continue;
        std::string where = PhaseText(phase.phase) + ", " + std::string(PlaceText(place.place));
        if (phase.ranks.size() > 1) where += ", " + rank.role;
        if (place.place != program::Place::kGpu) where += " (" + place.scope + ")";
        table.Row({{where},
                   {GiBColumn(place.bytes.point)},
                   {RangeText(place.bytes)},
                   {place.capacity ? GiBColumn(*place.capacity) : "?"},
                   {std::string(FitWord(place.fit)), FitTone(place.fit)}});
      }
    }
  }
  return table.empty() ? "" : "\n" + table.Text(width, style);
}

std::string LimitsSection(const Answer& answer, int width, const Style& style) {
  const verdict::Limits& limits = answer.limits;
  std::vector<std::string> pieces;
  if (limits.max_micro_batch) {
    pieces.push_back("micro-batch up to " + WithCommas(*limits.max_micro_batch));
  }
  if (limits.max_sequence_length) {
    pieces.push_back("length up to " + WithCommas(*limits.max_sequence_length) + " tokens");
  }
  if (limits.min_gpus) {
    const std::string& card = answer.machine.gpu.id;
    pieces.push_back(*limits.min_gpus == 1 ? "one " + card + " is enough"
                                           : "at least " + WithCommas(*limits.min_gpus) + " × " +
                                                 card + ", fully sharded");
  }
  if (pieces.empty()) return "";
  const std::string alone = pieces.size() > 1 ? " (each alone)" : "";
  return "\n" + Paragraph(std::string(kIndent, ' ') + "limits", Joined(pieces, "; ") + alone,
                          kIndent + kLabel, width, style);
}

std::string RemediesSection(const Answer& answer, const TextOptions& options, const Style& style) {
  if (answer.remedies.empty()) return "";
  Table table(kIndent, {{""},
                        {"GiB", Align::kRight},
                        {"saves", Align::kRight},
                        {"change", Align::kLeft, 12},
                        {"at the cost of", Align::kLeft, 12}});
  // Changes that do not do it take one line each only when everything is asked for.
  std::vector<std::string> not_enough;
  for (const verdict::Remedy& remedy : answer.remedies) {
    if (remedy.fit == verdict::Fit::kDoesNotFit && !options.explain) {
      not_enough.push_back(remedy.change + " (" + GiB(remedy.point) + ")");
      continue;
    }
    table.Row({{std::string(FitWord(remedy.fit)), FitTone(remedy.fit)},
               {GiBColumn(remedy.point)},
               {GiBColumn(remedy.saves)},
               {remedy.change, Tone::kStrong},
               {remedy.cost}});
  }
  std::string text = Title(style, "One change at a time, each evaluated anew");
  if (!table.empty()) text += table.Text(options.width, style);
  if (!not_enough.empty()) {
    text += Paragraph(std::string(kIndent, ' ') + "not enough:", Joined(not_enough, "; "),
                      kIndent + kNotEnough, options.width, style);
  }
  return text;
}

std::string AssumptionsSection(const std::vector<plan::Assumption>& assumptions,
                               const TextOptions& options, const Style& style) {
  if (assumptions.empty()) return "";
  if (!options.explain) {
    std::vector<std::string> pieces;
    pieces.reserve(assumptions.size());
    for (const plan::Assumption& assumption : assumptions) {
      pieces.push_back(assumption.what + ": " + assumption.value);
    }
    return Title(style, "Assumed, as nothing else was said (sources: --explain)") +
           Paragraph(std::string(kIndent, ' '), Joined(pieces, "; "), kIndent, options.width,
                     style);
  }
  Table table(kIndent, {{"what", Align::kLeft, 12}, {"value", Align::kLeft, 12}});
  for (const plan::Assumption& assumption : assumptions) {
    table.Row({{assumption.what}, {assumption.value}});
    table.Note(BasisText(assumption.basis, assumption.source));
  }
  return Title(style, "Assumed, as nothing else was said") + table.Text(options.width, style);
}

}  // namespace trainfit::report
