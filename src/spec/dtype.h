// Element types of tensors, with the names that config files use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainfit::spec {

enum class Dtype : std::uint8_t {
  kFp32,
  kFp16,
  kBf16,
  kFp8E4m3,
  kFp8E5m2,
  kInt8,
  kUint8,
  kInt32,
  kInt64,
  kBool
};

// Bytes of one element. Packed 4-bit weights are kUint8 with half as many elements.
std::int64_t ElementBytes(Dtype dtype);
// "bf16", "fp32", … as trainfit prints them.
std::string_view Name(Dtype dtype);
// Accepts bf16/bfloat16/torch.bfloat16, fp16/float16/half, fp32/float32/float, …; nullopt: unknown.
std::optional<Dtype> ParseDtype(std::string_view text);

}  // namespace trainfit::spec
