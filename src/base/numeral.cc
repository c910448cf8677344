#include "base/numeral.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace trainfit {
namespace {

template <typename Value>
std::optional<Value> ParseWhole(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  Value value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  return ParseWhole<std::int64_t>(text);
}

std::optional<double> ParseDecimal(std::string_view text) {
  const std::optional<double> value = ParseWhole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace trainfit
