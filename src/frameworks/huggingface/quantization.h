// Bytes of bitsandbytes 4-bit weights (functional.py quantize_4bit, nn/modules.py Params4bit).
#pragma once

#include <cstdint>

#include "base/units.h"

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

}  // namespace trainfit::frameworks::huggingface
