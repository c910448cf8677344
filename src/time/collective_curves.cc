#include "time/collective_curves.h"

#include <algorithm>
#include <cmath>

namespace trainfit::time {

std::span<const CollectiveCurve> CurvesOf(std::string_view link, std::string_view card,
                                          program::Collective collective) {
  const std::span<const CollectiveCurve> all = CollectiveCurves();
  const auto of = [&](std::string_view wanted_card) {
    const auto is_it = [&](const CollectiveCurve& curve) {
      return curve.link == link && curve.card == wanted_card && curve.collective == collective;
    };
    const auto begin = std::find_if(all.begin(), all.end(), is_it);
    return std::span(begin, std::find_if_not(begin, all.end(), is_it));
  };
  const std::span<const CollectiveCurve> own = of(card);
  return own.empty() ? of("") : own;
}

Seconds At(const CollectiveCurve& curve, Bytes bytes) {
  const auto size = static_cast<double>(bytes.value());
  const std::span<const CurvePoint> points = curve.points;
  if (size <= points.front().bytes) return Seconds(points.front().seconds);
  const CurvePoint& last = points.back();
  if (size >= last.bytes) return Seconds(last.seconds * size / last.bytes);
  const auto above = std::upper_bound(points.begin(), points.end(), size,
                                      [](double s, const CurvePoint& p) { return s < p.bytes; });
  const CurvePoint& high = *above;
  const CurvePoint& low = *(above - 1);
  const double part = std::log(size / low.bytes) / std::log(high.bytes / low.bytes);
  return Seconds(low.seconds * std::pow(high.seconds / low.seconds, part));
}

}  // namespace trainfit::time
