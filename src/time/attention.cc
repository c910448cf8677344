#include "time/attention.h"

#include <algorithm>
#include <cmath>

namespace trainfit::time {

double AttentionSeconds(const program::Operation& operation, const spec::AttentionRates& rates,
                        const Card& card) {
  constexpr double kBlock = 128;
  const auto queries = static_cast<double>(operation.shape[0]);
  const auto heads = static_cast<double>(operation.shape[1] * operation.groups);
  const double flops = operation.flops.value() / static_cast<double>(operation.kernels);
  const double blocks = heads * std::max(1.0, std::ceil(queries / kBlock));
  // The average block sees `keys` of them; the last one of a causal sequence twice as many.
  const double per_block = flops / blocks;
  const double width = 4 * static_cast<double>(operation.shape[2]) * kBlock;
  const bool is_backward = operation.kernel == program::KernelClass::kAttentionBackward;
  const double per_key = is_backward ? width * 2.5 : width;
  const double keys = per_block / per_key;
  const double unit_rate = card.Peak(operation.dtype) / card.sms * rates.share;
  const double all = blocks * per_key * (keys + rates.ramp) / (card.sms * unit_rate);
  const double longest = per_key * (2 * keys + rates.ramp) / unit_rate;
  return all + rates.tail * longest;
}

}  // namespace trainfit::time
