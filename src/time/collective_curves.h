// Times of collectives as they were measured on one node: data/calibration/collectives.csv, which
// tools/calibrate_collectives writes and the build turns into a table (collective_curves.cmake).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "program/event.h"

namespace trainfit::time {

struct CurvePoint {
  double bytes = 0;  // of the whole buffer, as nccl-tests counts it
  double seconds = 0;
};

struct CollectiveCurve {
  std::string_view link;  // id in data/links
  std::string_view card;  // id in data/gpus; empty: every card on that link
  program::Collective collective = program::Collective::kNone;
  std::int64_t ranks = 0;
  std::span<const CurvePoint> points;  // bytes and seconds rise
};

// In order of link, card, collective, ranks.
std::span<const CollectiveCurve> CollectiveCurves();

// Those of one collective on one link: of the card itself where it was measured, else of any card.
std::span<const CollectiveCurve> CurvesOf(std::string_view link, std::string_view card,
                                          program::Collective collective);

// Below the first point the time is that of the first: a latency. Between two points the logarithm
// of time runs straight over that of bytes; beyond the last the rate stays.
Seconds At(const CollectiveCurve& curve, Bytes bytes);

}  // namespace trainfit::time
