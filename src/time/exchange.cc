#include "time/exchange.h"

#include <algorithm>
#include <optional>
#include <span>

#include "time/collective_curves.h"
#include "time/nccl_model.h"

namespace trainfit::time {
namespace {

using program::Collective;

// 90 % ranges, as factors. Measured: two sources on the same link differ by less (A100, 2 to 8
// ranks: 2 % from 64 MiB up, 15 % below). Modelled over rates that were measured: the four-node
// sweeps against the model. Over rates that are usual for the kind of link: the spread of their
// shares in data/links.
constexpr Spread kMeasured = {0.90, 1.15};
constexpr Spread kRelated = {0.80, 1.30};
constexpr Spread kModelled = {0.75, 1.45};
constexpr Spread kUsual = {0.60, 1.80};

Estimate Around(Seconds point, Spread spread) {
  return {point, point * spread.low, point * spread.high};
}

// Measured over modelled time at the ranks of `path`, from curves at other numbers of ranks.
double Correction(std::span<const CollectiveCurve> curves, Bytes bytes, const LinkPath& path) {
  const auto ratio = [&](const CollectiveCurve& curve) {
    LinkPath as_measured = path;
    as_measured.ranks = curve.ranks;
    return At(curve, bytes) / NcclSeconds(curve.collective, bytes, as_measured);
  };
  const auto above = std::find_if(curves.begin(), curves.end(),
                                  [&](const CollectiveCurve& c) { return c.ranks >= path.ranks; });
  if (above == curves.end()) return ratio(curves.back());
  if (above == curves.begin()) return ratio(*above);
  const CollectiveCurve& below = *(above - 1);
  const double part = static_cast<double>(path.ranks - below.ranks) /
                      static_cast<double>(above->ranks - below.ranks);
  return ratio(below) * (1 - part) + ratio(*above) * part;
}

std::optional<Estimate> Measured(Collective collective, Bytes bytes, const LinkPath& path,
                                 std::string_view card) {
  const auto curves = CurvesOf(path.inside->id, card, collective);
  if (curves.empty()) return std::nullopt;
  const auto exact = std::find_if(curves.begin(), curves.end(),
                                  [&](const CollectiveCurve& c) { return c.ranks == path.ranks; });
  if (exact != curves.end()) return Around(At(*exact, bytes), kMeasured);
  return Around(NcclSeconds(collective, bytes, path) * Correction(curves, bytes, path), kRelated);
}

// The measured link whose curves one without its own takes over: built alike, with fewer or slower
// lanes.
std::string_view RelativeOf(std::string_view link) {
  struct Relative {
    std::string_view link;
    std::string_view measured;
  };
  constexpr Relative kRelatives[] = {
      {"nvlink-a800", "nvlink3"},
      {"nvlink-h800", "nvlink4"},
      {"nvlink6", "nvlink5"},
      {"pcie-gen5-x8", "pcie-gen5-x16"},
      {"pcie-gen4-x8", "pcie-gen4-x16"},
      {"pcie-gen3-x16", "pcie-gen4-x16"},
      {"pcie-gen3-x8", "pcie-gen4-x16"},
  };
  for (const Relative& relative : kRelatives) {
    if (relative.link == link) return relative.measured;
  }
  return {};
}

// A link that is r times slower carries a message as the other carries one of r times its size.
std::optional<Estimate> Related(Collective collective, Bytes bytes, const LinkPath& path) {
  const auto curves = CurvesOf(RelativeOf(path.inside->id), "", collective);
  const auto curve = std::find_if(curves.begin(), curves.end(),
                                  [&](const CollectiveCurve& c) { return c.ranks == path.ranks; });
  if (curve == curves.end()) return std::nullopt;
  const CurvePoint& largest = curve->points.back();
  const double bus = largest.bytes * BusShare(collective, path.ranks) / largest.seconds;
  const double slower = bus / AchievedBus(*path.inside).value();
  const Bytes as_large(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * slower));
  return Around(At(*curve, as_large), kRelated);
}

// A time in which no more than the wire's rate is needed. In-switch reduction lets an all-reduce
// pass each byte once in each direction.
Seconds LeastSeconds(Collective collective, Bytes bytes, const LinkPath& path) {
  const double share = collective == Collective::kAllReduce ? 1 : BusShare(collective, path.ranks);
  return bytes / path.inside->one_way * share;
}

}  // namespace

Estimate ExchangeSeconds(Collective collective, Bytes bytes, const LinkPath& path,
                         std::string_view card) {
  if (path.ranks <= 1 || collective == Collective::kNone || bytes <= Bytes()) return {};
  if (path.islands == 1) {
    std::optional<Estimate> measured = Measured(collective, bytes, path, card);
    if (!measured) measured = Related(collective, bytes, path);
    if (measured) {
      const Seconds least = LeastSeconds(collective, bytes, path);
      for (Seconds* time : {&measured->point, &measured->low, &measured->high}) {
        *time = std::max(*time, least);
      }
      return *measured;
    }
  }
  const auto is_known = [](const spec::Link* link) {
    return link == nullptr || link->all_reduce_bus.has_value();
  };
  const bool is_measured = is_known(path.inside) && is_known(path.between);
  return Around(NcclSeconds(collective, bytes, path), is_measured ? kModelled : kUsual);
}

Spread WidestSpread(const LinkPaths& paths, std::string_view card) {
  Spread widest;
  for (const LinkPath& path : paths) {
    if (path.ranks <= 1) continue;
    const Estimate time = ExchangeSeconds(Collective::kAllReduce, 64 * kMiB, path, card);
    widest.low = std::min(widest.low, time.low / time.point);
    widest.high = std::max(widest.high, time.high / time.point);
  }
  return widest;
}

}  // namespace trainfit::time
