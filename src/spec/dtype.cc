#include "spec/dtype.h"

#include <utility>

#include "base/check.h"

namespace trainfit::spec {
namespace {

struct Row {
  Dtype dtype;
  std::int64_t bytes;
  std::string_view name;
};

constexpr Row kRows[] = {
    {Dtype::kFp32, 4, "fp32"},        {Dtype::kFp16, 2, "fp16"},        {Dtype::kBf16, 2, "bf16"},
    {Dtype::kFp8E4m3, 1, "fp8_e4m3"}, {Dtype::kFp8E5m2, 1, "fp8_e5m2"}, {Dtype::kInt8, 1, "int8"},
    {Dtype::kUint8, 1, "uint8"},      {Dtype::kInt32, 4, "int32"},      {Dtype::kInt64, 8, "int64"},
    {Dtype::kBool, 1, "bool"},
};

// Spellings beyond the names above: PyTorch's, safetensors' and those of config files.
constexpr std::pair<std::string_view, Dtype> kSpellings[] = {
    {"float32", Dtype::kFp32},
    {"float", Dtype::kFp32},
    {"f32", Dtype::kFp32},
    {"single", Dtype::kFp32},
    {"float16", Dtype::kFp16},
    {"half", Dtype::kFp16},
    {"f16", Dtype::kFp16},
    {"bfloat16", Dtype::kBf16},
    {"float8_e4m3fn", Dtype::kFp8E4m3},
    {"float8_e4m3", Dtype::kFp8E4m3},
    {"f8_e4m3", Dtype::kFp8E4m3},
    {"fp8", Dtype::kFp8E4m3},
    {"float8_e5m2", Dtype::kFp8E5m2},
    {"f8_e5m2", Dtype::kFp8E5m2},
    {"i8", Dtype::kInt8},
    {"u8", Dtype::kUint8},
    {"int", Dtype::kInt32},
    {"i32", Dtype::kInt32},
    {"long", Dtype::kInt64},
    {"i64", Dtype::kInt64},
};

const Row& RowOf(Dtype dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  CHECK(false) << "a dtype without a row in the table";
  return kRows[0];
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

}  // namespace

std::int64_t ElementBytes(Dtype dtype) { return RowOf(dtype).bytes; }

std::string_view Name(Dtype dtype) { return RowOf(dtype).name; }

std::optional<Dtype> ParseDtype(std::string_view text) {
  constexpr std::string_view kPrefix = "torch.";
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  for (const Row& row : kRows) {
    if (EqualsIgnoringCase(text, row.name)) return row.dtype;
  }
  for (const auto& [spelling, dtype] : kSpellings) {
    if (EqualsIgnoringCase(text, spelling)) return dtype;
  }
  return std::nullopt;
}

}  // namespace trainfit::spec
