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
  // Rates of cards with asynchronous products are of kernels that use them. flash-attention 2 is
  // 1.5 to 2.0 times slower there in forward, 1.5 to 1.75 times in backward (J. Shah et al.,
  // FlashAttention-3, arXiv 2407.08608, section 4.1).
  constexpr double kForwardLoss = 1.75;
  constexpr double kBackwardLoss = 1.6;
  const bool loses = card.has_asynchronous_products && !operation.asynchronous;
  double loss = !loses ? 1 : is_backward ? kBackwardLoss : kForwardLoss;
  // flash-attention 2 is 1.3 to 1.5 times faster than the Triton kernel of version 1 in forward,
  // and about twice in backward (T. Dao, FlashAttention-2, arXiv 2307.08691, section 4.1).
  constexpr double kFirstForwardLoss = 1.4;
  constexpr double kFirstBackwardLoss = 2.0;
  if (operation.first_flash) loss *= is_backward ? kFirstBackwardLoss : kFirstForwardLoss;
  const double unit_rate = card.Peak(operation.dtype) / card.sms * rates.share / loss;
  const double all = blocks * per_key * (keys + rates.ramp) / (card.sms * unit_rate);
  const double longest = per_key * (2 * keys + rates.ramp) / unit_rate;
  return all + rates.tail * longest;
}

}  // namespace trainfit::time
