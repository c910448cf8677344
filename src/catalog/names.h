// Names as people type them, made comparable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainfit::catalog {

enum class Kind : std::uint8_t { kGpu, kInstance, kLink, kModel };
constexpr int kKinds = 4;

// Words of a name in small letters, split at everything but ASCII letters, digits and dots. For
// GPUs, makers' and brand names are dropped and a memory size loses its unit:
//   "NVIDIA GeForce RTX 4090" → rtx 4090,   "A100-SXM4-80GB" → a100 sxm4 80
std::vector<std::string> NameWords(Kind kind, std::string_view name);

// The words run together: two names that differ in case, spaces, dashes or a brand are equal.
// Dots stay, or Qwen2-57B would be Qwen2.5-7B.
std::string NormalizeName(Kind kind, std::string_view name);

// A name without one of its words that is a bare number: "A40 48GB" → {"a40", 48}.
struct SizedName {
  std::string name;
  std::int64_t gb = 0;
};

// All ways to take one number for a memory size, the last number first.
std::vector<SizedName> TakeSize(std::string_view name);

}  // namespace trainfit::catalog
