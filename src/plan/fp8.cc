#include "plan/fp8.h"

#include <string_view>

namespace trainfit::plan {

void ResolveFp8(const std::optional<spec::Fp8>& asked, const spec::Gpu& gpu, Plan& plan,
                Diagnostics& errors) {
  plan.fp8 = asked;
  if (!asked) return;
  const std::string_view capability = gpu.compute_capability;
  // transformer_engine/pytorch/quantization.py check_fp8_support: compute capability 8.9.
  const bool has_none =
      capability.starts_with("7.") || (capability.starts_with("8.") && capability != "8.9");
  if (has_none) {
    errors.push_back(
        Error("no-fp8", gpu.name + " multiplies nothing in fp8", "leave --fp8-format out"));
  }
  // transformer_engine/pytorch/utils.py is_non_tn_fp8_gemm_supported: from compute capability 10.0
  // to 11.x products read an 8-bit matrix either way; scales of rows and blocks belong to one way.
  const bool is_by_row =
      asked->scaling == spec::Fp8Scaling::kMx || asked->scaling == spec::Fp8Scaling::kBlock;
  const bool reads_either_way = capability.starts_with("10.") || capability.starts_with("11.");
  plan.fp8_needs_transposes = is_by_row || !reads_either_way;
}

}  // namespace trainfit::plan
