#include "time/kernel.h"

#include <algorithm>

#include "time/attention.h"
#include "time/gemm.h"

namespace trainfit::time {
namespace {

using program::KernelClass;
using program::Operation;

// Products of 8-bit matrices are written in 16 bits.
constexpr std::int64_t kLeastOutput = 2;

// Of one launch, without what launching costs.
RoofTime OneKernel(const Operation& operation, const Card& card) {
  const double bytes =
      static_cast<double>(operation.moved.value()) / static_cast<double>(operation.kernels);
  const double memory = bytes / (card.bandwidth * card.rates.bandwidth);
  switch (operation.kernel) {
    case KernelClass::kGemm:
      return GemmTime({.m = operation.shape[0],
                       .n = operation.shape[1],
                       .k = operation.shape[2],
                       .groups = operation.groups,
                       .dtype = operation.dtype,
                       .out_bytes = std::max(kLeastOutput, spec::ElementBytes(operation.dtype))},
                      card);
    case KernelClass::kAttentionForward:
      return {AttentionSeconds(operation, card.rates.attention_forward, card), memory};
    case KernelClass::kAttentionBackward:
      return {AttentionSeconds(operation, card.rates.attention_backward, card), memory};
    default:
      return {operation.flops.value() / static_cast<double>(operation.kernels) / card.fp32, memory};
  }
}

}  // namespace

KernelTime KernelSeconds(const Operation& operation, const Card& card) {
  const auto moved = static_cast<double>(operation.moved.value());
  if (operation.kernel == KernelClass::kHostOptimizer) {
    return {Seconds(moved / card.host_optimizer), Bound::kHost};
  }
  if (operation.kernel == KernelClass::kCopy && operation.stream == program::Stream::kCopy) {
    return {Seconds(moved / card.host_link), Bound::kLink};
  }
  if (operation.kernel == KernelClass::kWait || operation.kernel == KernelClass::kHostSync) {
    return {};
  }
  const RoofTime one = OneKernel(operation, card);
  const double longest = std::max(one.compute, one.memory);
  const double floor = card.rates.launch_floor_us * 1e-6;
  const double seconds = static_cast<double>(operation.kernels) * (longest + floor);
  if (floor > longest) return {Seconds(seconds), Bound::kLaunch};
  return {Seconds(seconds), one.compute > one.memory ? Bound::kCompute : Bound::kBandwidth};
}

}  // namespace trainfit::time
