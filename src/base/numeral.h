// Numbers written as text, whole: "12" is one, "12 GB", "" and "nan" are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainfit {

// Decimal digits with an optional minus. Nothing when the text is anything else or beyond 64 bits.
std::optional<std::int64_t> ParseInteger(std::string_view text);

// A finite decimal with an optional minus, fraction and exponent. Nothing when it is anything else
// or beyond a double.
std::optional<double> ParseDecimal(std::string_view text);

}  // namespace trainfit
