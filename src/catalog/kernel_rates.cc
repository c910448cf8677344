#include "catalog/kernel_rates.h"

#include <string>
#include <utility>

namespace trainfit::catalog {
namespace {

using config::Node;

class RatesReader {
 public:
  explicit RatesReader(const Node& rates) : rates_(rates) {}

  double Number(std::string_view key) {
    constexpr double kMost = 1e6;
    Expected<double> value = config::GetDouble(rates_, key, 0, kMost);
    if (value.has_value()) return *value;
    for (Diagnostic& error : value.error()) errors_.push_back(std::move(error));
    return 0;
  }
  spec::AttentionRates Attention(const std::string& key) {
    return {Number(key), Number(key + "_ramp"), Number(key + "_tail")};
  }
  Diagnostics TakeErrors() { return std::move(errors_); }

 private:
  const Node& rates_;
  Diagnostics errors_;
};

}  // namespace

Expected<spec::KernelRates> ReadKernelRates(const Node& family) {
  spec::KernelRates rates;
  ASSIGN_OR_RETURN(rates.id, config::GetString(family, "id"));
  ASSIGN_OR_RETURN(const std::string basis, config::GetString(family, "basis"));
  rates.basis = basis == "measured" ? Basis::kMeasured : Basis::kAssumed;
  const Node* numbers = family.Find("rates");
  if (numbers == nullptr) {
    return Fail(ErrorAt(family.Span(), "missing-key", "a family needs \"rates\""));
  }
  RatesReader reader(*numbers);
  rates.gemm = reader.Number("gemm");
  rates.gemm_ramp = reader.Number("gemm_ramp");
  rates.gemm_small_tile = reader.Number("gemm_small_tile");
  rates.gemm_bandwidth = reader.Number("gemm_bandwidth");
  rates.gemm_pj_per_flop = reader.Number("gemm_pj_per_flop");
  rates.attention_forward = reader.Attention("attention_forward");
  rates.attention_backward = reader.Attention("attention_backward");
  rates.bandwidth = reader.Number("bandwidth");
  rates.launch_floor_us = reader.Number("launch_floor_us");
  rates.sigma = reader.Number("sigma");
  if (Diagnostics errors = reader.TakeErrors(); !errors.empty()) return Fail(std::move(errors));
  return rates;
}

}  // namespace trainfit::catalog
