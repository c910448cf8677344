// Bytes of quantized weights: bitsandbytes 4-bit (functional.py quantize_4bit, nn/modules.py
// Params4bit) and int8, GPTQ and AWQ.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::huggingface {

struct QuantizedSize {
  Bytes packed;          // two weights a byte
  Bytes absmax;          // fp32 a block, or one byte a block when quantized itself
  Bytes nested_absmax;   // fp32 a block of blocks; 0 without double quantization
  Bytes rebuilt_absmax;  // fp32 absmax that dequantization makes; 0 without double quantization
};

inline constexpr std::int64_t kFourBitBlock = 64;
inline constexpr std::int64_t kNestedBlock = 256;
inline constexpr Bytes kCodeTable{std::int64_t{16} * 4};  // fp32 values of nf4 or fp4
inline constexpr Bytes kNestedCode{std::int64_t{256} * 4};
inline constexpr Bytes kOffset{4};

constexpr QuantizedSize FourBitSize(std::int64_t elements, bool double_quantization) {
  const std::int64_t blocks = CeilDiv(elements, kFourBitBlock);
  const Bytes packed((elements + 1) / 2);
  if (!double_quantization) return {packed, Bytes(4 * blocks), Bytes(), Bytes()};
  return {packed, Bytes(blocks), Bytes(4 * CeilDiv(blocks, kNestedBlock)), Bytes(4 * blocks)};
}

// bitsandbytes' 4-bit types: blocks over the flat matrix, made while loading.
constexpr bool IsBlockwise(spec::Quantization quantization) {
  return quantization == spec::Quantization::kNf4 || quantization == spec::Quantization::kFp4;
}

struct GroupedSize {
  Bytes packed;
  Bytes scales;
  Bytes zeros;
  Bytes order;  // the group of each input
};

// quantize_config.json: group_size, 128 unless it says otherwise.
inline constexpr std::int64_t kGroup = 128;

// LLM.int8: one fp32 scale an output (nn/modules.py Int8Params.SCB). GPTQ: int32 words of packed
// weights and zeros, fp16 scales, an int32 group index (gptqmodel/nn_modules/qlinear, g_idx). AWQ:
// the same without the index (awq/modules/linear/gemm.py).
constexpr GroupedSize GroupedSizeOf(std::int64_t out, std::int64_t in,
                                    spec::Quantization quantization) {
  const std::int64_t elements = out * in;
  if (quantization == spec::Quantization::kInt8) return {Bytes(elements), Bytes(4 * out), {}, {}};
  const std::int64_t bits = quantization == spec::Quantization::kGptq8 ? 8 : 4;
  const std::int64_t groups = CeilDiv(in, kGroup);
  const bool has_order = quantization != spec::Quantization::kAwq4;
  return {Bytes(elements * bits / 8), Bytes(2 * groups * out), Bytes(groups * out * bits / 8),
          Bytes(has_order ? 4 * in : 0)};
}

}  // namespace trainfit::frameworks::huggingface
