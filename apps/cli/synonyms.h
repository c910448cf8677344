// What people call the choices besides their own names.
#pragma once

#include <array>

#include "cli/request.h"
#include "cli/values.h"

namespace trainfit::cli {

using spec::AttentionImplementation;
using spec::LossKernel;
using spec::Optimizer;
using spec::Precision;
using spec::Sharding;

inline constexpr std::array kPrecisionSynonyms = std::to_array<Synonym<Precision>>({
    {"no", Precision::kFp32},
    {"float32", Precision::kFp32},
    {"bfloat16", Precision::kBf16Mixed},
    {"float16", Precision::kFp16Mixed},
    {"pure-bf16", Precision::kBf16Pure},
    {"pure-fp16", Precision::kFp16Pure},
});
inline constexpr std::array kOptimizerSynonyms = std::to_array<Synonym<Optimizer>>({
    {"adamw-torch", Optimizer::kAdamW},
    {"adamw-torch-fused", Optimizer::kAdamW},
    {"adamw-8bit", Optimizer::kAdamW8bit},
    {"adamw-bnb-8bit", Optimizer::kAdamW8bit},
    {"paged-adamw-32bit", Optimizer::kPagedAdamW},
    {"lion-32bit", Optimizer::kLion},
});
inline constexpr std::array kAttentionSynonyms = std::to_array<Synonym<AttentionImplementation>>({
    {"flash-attention-2", AttentionImplementation::kFlash2},
    {"flash-attention-3", AttentionImplementation::kFlash3},
});
inline constexpr std::array kLossSynonyms = std::to_array<Synonym<LossKernel>>({
    {"fused-linear", LossKernel::kFusedLinear},
    {"chunked-nll", LossKernel::kChunked},
});
inline constexpr std::array kShardingSynonyms = std::to_array<Synonym<Sharding>>({
    {"zero-1", Sharding::kZero1},
    {"zero-2", Sharding::kZero2},
    {"zero-3", Sharding::kZero3},
});
template <typename Enum>
inline constexpr std::array<Synonym<Enum>, 0> kNoSynonyms = {};

}  // namespace trainfit::cli
