#include "time/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace trainfit::time {
namespace {

struct Tile {
  std::int64_t rows;
  std::int64_t cols;
};
constexpr std::array kTiles = {Tile{256, 128}, Tile{128, 256}, Tile{128, 128},
                               Tile{128, 64},  Tile{64, 128},  Tile{64, 64}};
constexpr double kLargestTile = 256 * 128;
// Parts into which a product's depth is cut, and the least depth of a part: below it the pipeline
// of loads never fills (cuBLAS' split-K heuristics stop at a few hundred).
constexpr std::array<std::int64_t, 6> kSplits = {1, 2, 3, 4, 6, 8};
constexpr std::int64_t kLeastDepth = 256;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

RoofTime GemmTime(const GemmShape& shape, const Card& card) {
  const spec::KernelRates& rates = card.rates;
  const double bandwidth = card.bandwidth * rates.gemm_bandwidth;
  const double unit_rate = card.Peak(shape.dtype) / card.sms * rates.gemm;
  const auto k = static_cast<double>(shape.k);
  const double outputs = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const std::int64_t rows = CeilDivide(shape.m, shape.groups);

  RoofTime time;
  time.compute = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double area = static_cast<double>(tile.rows * tile.cols);
    const double rate = unit_rate * std::pow(area / kLargestTile, rates.gemm_small_tile);
    const std::int64_t tiles =
        shape.groups * CeilDivide(rows, tile.rows) * CeilDivide(shape.n, tile.cols);
    for (const std::int64_t split : kSplits) {
      if (split > 1 && shape.k < split * kLeastDepth) break;
      const double waves = std::ceil(static_cast<double>(tiles * split) / card.sms);
      double seconds = waves * 2 * area * (k / static_cast<double>(split) + rates.gemm_ramp) / rate;
      // fp32 partial sums, written and read; half of it from the L2 cache.
      if (split > 1) seconds += outputs * static_cast<double>(split) * 4 / bandwidth;
      time.compute = std::min(time.compute, seconds);
    }
  }
  // The clock falls until the card stays within its power limit. Narrower types draw less a FLOP.
  const double limited = card.power_limited_rate * card.Peak(shape.dtype) / card.tensor_bf16;
  time.compute = std::max(time.compute, 2 * outputs * k / limited);
  const auto element = static_cast<double>(spec::ElementBytes(shape.dtype));
  const double read = (static_cast<double>(shape.m) +
                       static_cast<double>(shape.groups) * static_cast<double>(shape.n)) *
                      k * element;
  time.memory = (read + outputs * static_cast<double>(shape.out_bytes)) / bandwidth;
  return time;
}

}  // namespace trainfit::time
