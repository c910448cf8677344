#include "time/card.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace trainfit::time {
namespace {

template <typename Rate>
double ValueOr(const std::optional<Rate>& rate, double otherwise) {
  return rate.has_value() ? rate->value() : otherwise;
}

// Pinned copies over PCIe as measured: 26.1 GB/s of generation 4 (FlagPerf, A100), 55.4 of
// generation 5 (nvbandwidth, H200); older ones by the same share of their nominal rate.
double HostLink(const spec::Gpu& gpu) {
  constexpr double kGb = 1e9;
  constexpr double kOfGeneration3 = 12.8;
  constexpr double kOfGeneration4 = 26.1;
  constexpr double kOfGeneration5 = 55.4;
  constexpr double kChipToChip = 359;  // NVLink-C2C, measured on a GB300
  constexpr double kLanes = 16;
  if (gpu.form == "superchip") return kChipToChip * kGb;
  const std::string_view pcie = gpu.pcie;
  double rate = kOfGeneration4;
  if (pcie.starts_with("gen5") || pcie.starts_with("gen6")) rate = kOfGeneration5;
  if (pcie.starts_with("gen3")) rate = kOfGeneration3;
  if (pcie.ends_with("x8")) rate *= 8 / kLanes;
  if (pcie.ends_with("x4")) rate *= 4 / kLanes;
  return rate * kGb;
}

// DeepSpeed's CPU Adam on a server with two sockets goes through about 110 GB/s, which eight ranks
// share (8 x H200, Llama-3.1-8B: a step of 1e9 elements a rank takes some 2.2 s); a desktop's two
// channels of DDR5 give one rank about 40.
double HostOptimizer(const spec::Gpu& gpu) {
  constexpr double kShareOfServer = 14e9;
  constexpr double kDesktop = 40e9;
  return gpu.form == "sxm" || gpu.form == "superchip" ? kShareOfServer : kDesktop;
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
  card.has_asynchronous_products =
      gpu.compute_capability.starts_with("9.") || gpu.compute_capability.starts_with("10.");
  card.host_link = HostLink(gpu);
  card.host_optimizer = HostOptimizer(gpu);
  constexpr double kTypicalL2 = 32.0 * (1 << 20);
  card.l2_bytes = gpu.l2.has_value() ? static_cast<double>(gpu.l2->value()) : kTypicalL2;
  return card;
}

}  // namespace trainfit::time
