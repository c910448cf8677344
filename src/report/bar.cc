#include "report/bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace trainfit::report {
namespace {

constexpr int kEighths = 8;
constexpr std::array<std::string_view, kEighths> kPartial = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::string_view kFull = "█";

double Ratio(Bytes part, Bytes whole) {
  return static_cast<double>(part.value()) / static_cast<double>(whole.value());
}

// The part that the bytes at `position` (0 to 1 of the scale) belong to.
std::size_t PartAt(const std::vector<Bytes>& parts, double position, Bytes scale) {
  double end = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    end += Ratio(parts[i], scale);
    if (position < end) return i;
  }
  return parts.empty() ? 0 : parts.size() - 1;
}

struct GaugeCell {
  std::string_view sign;
  Tone tone;
};

GaugeCell CellAt(const Gauge& gauge, Bytes point, Bytes scale, int cell, int cells) {
  const double from = static_cast<double>(cell) / cells;
  const double middle = (cell + 0.5) / cells;
  const double filled = (Ratio(point, scale) - from) * cells;
  if (filled < 1.0 / kEighths) {
    if (middle < Ratio(gauge.high, scale)) return {"░", Tone::kWarn};
    return {"·", Tone::kDim};
  }
  const double inside = std::min(middle, Ratio(point, scale));
  const Tone tone = PartTone(PartAt(gauge.parts, inside, scale));
  if (middle > Ratio(gauge.capacity, scale)) return {"▒", tone};
  const int eighths = static_cast<int>(std::min(1.0, filled) * kEighths);
  return {eighths == kEighths ? kFull : kPartial[eighths], tone};
}

// Neighbours of one tone share their colour codes.
std::string GaugeLine(const Gauge& gauge, Bytes point, Bytes scale, int cells, const Style& style) {
  std::string line;
  std::string run;
  Tone tone = Tone::kPlain;
  for (int i = 0; i < cells; ++i) {
    const GaugeCell cell = CellAt(gauge, point, scale, i, cells);
    if (cell.tone != tone) {
      line += style(tone, run);
      run.clear();
      tone = cell.tone;
    }
    run += cell.sign;
  }
  return line + style(tone, run);
}

}  // namespace

std::string Bar(double fraction, int cells) {
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  int eighths = static_cast<int>(std::lround(clamped * cells * kEighths));
  if (eighths == 0 && clamped > 0) eighths = 1;
  std::string bar;
  for (int i = 0; i < eighths / kEighths; ++i) bar += kFull;
  bar += kPartial[eighths % kEighths];
  return bar;
}

std::string GaugeText(const Gauge& gauge, const std::string& label, int indent, int cells,
                      const Style& style) {
  Bytes point;
  for (const Bytes part : gauge.parts) point += part;
  const Bytes scale = std::max({gauge.capacity, gauge.high, point, Bytes(1)});
  std::string out(indent, ' ');
  out += GaugeLine(gauge, point, scale, cells, style) + '\n';

  // The mark stands under the last cell that the capacity reaches.
  const int mark = std::clamp(static_cast<int>(std::ceil(Ratio(gauge.capacity, scale) * cells)) - 1,
                              0, cells - 1);
  const int width = DisplayWidth(label) + 1;
  const bool label_first = mark >= width;
  out.append(indent + (label_first ? mark - width : mark), ' ');
  out += label_first ? label + " ▲" : "▲ " + label;
  out += '\n';
  return out;
}

}  // namespace trainfit::report
