#include "time/card.h"

#include <algorithm>
#include <limits>

namespace trainfit::time {
namespace {

template <typename Rate>
double ValueOr(const std::optional<Rate>& rate, double otherwise) {
  return rate.has_value() ? rate->value() : otherwise;
}

}  // namespace

double Card::Peak(spec::Dtype dtype) const {
  switch (dtype) {
    case spec::Dtype::kFp32:
      return fp32;
    case spec::Dtype::kFp16:
      return tensor_fp16;
    case spec::Dtype::kFp8E4m3:
    case spec::Dtype::kFp8E5m2:
      return tensor_fp8;
    default:
      return tensor_bf16;
  }
}

Card MakeCard(const spec::Gpu& gpu) {
  Card card;
  if (gpu.rates != nullptr) card.rates = *gpu.rates;
  const double tensor = ValueOr(gpu.bf16, ValueOr(gpu.fp16, 0));
  // Vector units do a sixteenth of what tensor cores do, on every generation within a factor 2.
  constexpr double kVectorShare = 16;
  card.fp32 = ValueOr(gpu.fp32, tensor / kVectorShare);
  card.tensor_fp16 = ValueOr(gpu.fp16, ValueOr(gpu.bf16, card.fp32));
  card.tensor_bf16 = gpu.supports_bf16 ? ValueOr(gpu.bf16, card.tensor_fp16) : card.fp32;
  card.tensor_fp8 = ValueOr(gpu.fp8, card.tensor_bf16);
  // Bytes a FLOP of the vector units, typical: keeps an unknown bandwidth from being zero.
  constexpr double kBytesPerFlop = 0.04;
  card.bandwidth = ValueOr(gpu.memory_bandwidth, card.fp32 * kBytesPerFlop);
  constexpr double kFlopsPerUnit = 160e9;
  card.sms = gpu.sm_count.has_value() ? static_cast<double>(*gpu.sm_count)
                                      : std::max(1.0, card.fp32 / kFlopsPerUnit);
  // A part of the power goes to memory, leakage and fans whatever is computed: idle cards at full
  // clocks draw about a seventh of their limit.
  constexpr double kComputeShare = 0.85;
  constexpr double kPicojoule = 1e-12;
  card.power_limited_rate =
      gpu.power_w.has_value() && card.rates.gemm_pj_per_flop > 0
          ? *gpu.power_w * kComputeShare / (card.rates.gemm_pj_per_flop * kPicojoule)
          : std::numeric_limits<double>::infinity();
  constexpr double kTypicalL2 = 32.0 * (1 << 20);
  card.l2_bytes = gpu.l2.has_value() ? static_cast<double>(gpu.l2->value()) : kTypicalL2;
  return card;
}

}  // namespace trainfit::time
