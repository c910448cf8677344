#include "config/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string>

namespace trainfit::config {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kDigitsAnd_ = "0123456789_";
constexpr int kSexagesimal = 60;

template <std::size_t kSize>
bool IsOneOf(std::string_view text, const std::string_view (&words)[kSize]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

// Moves `text` behind the longest beginning made of `letters`; false when there is none.
bool Skip(std::string_view* text, std::string_view letters) {
  const std::size_t end = std::min(text->find_first_not_of(letters), text->size());
  text->remove_prefix(end);
  return end > 0;
}

bool SkipOne(std::string_view* text, std::string_view letters) {
  if (text->empty() || letters.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

// (?::[0-5]?[0-9])+
bool SkipSixties(std::string_view* text) {
  bool is_any = false;
  while (SkipOne(text, ":")) {
    const std::string_view before = *text;
    if (!Skip(text, kDigits)) return false;
    const std::size_t digits = before.size() - text->size();
    if (digits > 2 || (digits == 2 && before.front() > '5')) return false;
    is_any = true;
  }
  return is_any;
}

// (?:[eE][-+][0-9]+)?$
bool IsExponentOrNothing(std::string_view text) {
  if (text.empty()) return true;
  return SkipOne(&text, "eE") && SkipOne(&text, "-+") && Skip(&text, kDigits) && text.empty();
}

// [0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?
bool IsPointFloat(std::string_view text) {
  if (text.empty() || text.front() == '_' || !Skip(&text, kDigitsAnd_)) return false;
  if (!SkipOne(&text, ".")) return false;
  Skip(&text, kDigitsAnd_);
  return IsExponentOrNothing(text);
}

// [0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
bool IsSexagesimalFloat(std::string_view text) {
  if (text.empty() || text.front() == '_' || !Skip(&text, kDigitsAnd_)) return false;
  if (!SkipSixties(&text) || !SkipOne(&text, ".")) return false;
  Skip(&text, kDigitsAnd_);
  return text.empty();
}

std::string WithoutUnderscores(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  return digits;
}

YamlScalar OfInteger(std::int64_t value) {
  return {.kind = NodeKind::kInt, .integer = value, .real = static_cast<double>(value)};
}
YamlScalar OfDouble(double value) { return {.kind = NodeKind::kDouble, .real = value}; }

// Decimal digits with an optional point and exponent. Beyond the range of a double: infinity or
// zero, as Python's float().
double ToDouble(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  const bool is_small = text.find("e-") != std::string_view::npos ||
                        text.find("E-") != std::string_view::npos || text.starts_with("0.") ||
                        text.starts_with('.');
  return is_small ? 0.0 : std::numeric_limits<double>::infinity();
}

// Digits of a base: exact where 64 bits suffice, else the nearest double.
std::optional<YamlScalar> ToInteger(bool is_negative, std::string_view digits, int base) {
  const std::string text = (is_negative ? "-" : "") + WithoutUnderscores(digits);
  if (text.empty() || text == "-") return std::nullopt;
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ptr != text.data() + text.size()) return std::nullopt;
  if (result.ec == std::errc()) return OfInteger(value);
  double real = base == 10 ? ToDouble(WithoutUnderscores(digits)) : 0;
  for (const char c : base == 10 ? "" : WithoutUnderscores(digits)) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    real = real * base + digit;
  }
  return OfDouble(is_negative ? -real : real);
}

// 1:30 is 90, 1:30.5 is 90.5.
double SumSixties(std::string_view text) {
  double sum = 0;
  while (true) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    sum = sum * kSexagesimal + ToDouble(text.substr(0, colon));
    if (colon == text.size()) return sum;
    text.remove_prefix(colon + 1);
  }
}

std::optional<YamlScalar> ParseFloat(std::string_view text) {
  constexpr std::string_view kInfinities[] = {".inf", ".Inf", ".INF"};
  constexpr std::string_view kNans[] = {".nan", ".NaN", ".NAN"};
  if (IsOneOf(text, kNans)) return OfDouble(std::numeric_limits<double>::quiet_NaN());
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const double sign = text.starts_with('-') ? -1 : 1;
  const std::string_view number = text.substr(has_sign ? 1 : 0);
  if (IsOneOf(number, kInfinities)) {
    return OfDouble(sign * std::numeric_limits<double>::infinity());
  }
  // \.[0-9][0-9_]*…: takes no sign.
  std::string_view rest = number;
  const bool is_point_first = !has_sign && SkipOne(&rest, ".") && !rest.empty() &&
                              rest.front() != '_' && Skip(&rest, kDigitsAnd_) &&
                              IsExponentOrNothing(rest);
  if (is_point_first || IsPointFloat(number)) {
    return OfDouble(sign * ToDouble(WithoutUnderscores(number)));
  }
  if (IsSexagesimalFloat(number)) return OfDouble(sign * SumSixties(WithoutUnderscores(number)));
  return std::nullopt;
}

std::optional<YamlScalar> ParseInt(std::string_view text) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const bool is_negative = text.starts_with('-');
  const std::string_view number = text.substr(has_sign ? 1 : 0);
  const auto is_all = [](std::string_view digits, std::string_view letters) {
    return !digits.empty() && digits.find_first_not_of(letters) == std::string_view::npos;
  };
  if (number == "0") return OfInteger(0);
  if (number.starts_with("0b") && is_all(number.substr(2), "01_")) {
    return ToInteger(is_negative, number.substr(2), 2);
  }
  if (number.starts_with("0x") && is_all(number.substr(2), "0123456789abcdefABCDEF_")) {
    return ToInteger(is_negative, number.substr(2), 16);
  }
  if (number.starts_with('0') && is_all(number.substr(1), "01234567_")) {
    return ToInteger(is_negative, number, 8);
  }
  if (number.empty() || number.front() < '1' || number.front() > '9') return std::nullopt;
  if (is_all(number, kDigitsAnd_)) return ToInteger(is_negative, number, 10);
  std::string_view rest = number;
  Skip(&rest, kDigitsAnd_);
  if (!SkipSixties(&rest) || !rest.empty()) return std::nullopt;
  constexpr double kExactInDouble = 9007199254740992.0;
  const double sum = SumSixties(WithoutUnderscores(number)) * (is_negative ? -1 : 1);
  const bool is_exact = sum >= -kExactInDouble && sum <= kExactInDouble;
  return is_exact ? OfInteger(static_cast<std::int64_t>(sum)) : OfDouble(sum);
}

std::optional<YamlScalar> ParseBool(std::string_view text) {
  constexpr std::string_view kTrue[] = {"yes",  "Yes", "YES", "true", "True",
                                        "TRUE", "on",  "On",  "ON"};
  constexpr std::string_view kFalse[] = {"no",    "No",  "NO",  "false", "False",
                                         "FALSE", "off", "Off", "OFF"};
  if (IsOneOf(text, kTrue)) return YamlScalar{.kind = NodeKind::kBool, .boolean = true};
  if (IsOneOf(text, kFalse)) return YamlScalar{.kind = NodeKind::kBool, .boolean = false};
  return std::nullopt;
}

std::optional<YamlScalar> ParseNull(std::string_view text) {
  constexpr std::string_view kNull[] = {"", "~", "null", "Null", "NULL"};
  if (IsOneOf(text, kNull)) return YamlScalar{.kind = NodeKind::kNull};
  return std::nullopt;
}

}  // namespace

YamlScalar ResolveYamlScalar(std::string_view text) {
  if (const auto value = ParseNull(text)) return *value;
  if (const auto value = ParseBool(text)) return *value;
  if (const auto value = ParseFloat(text)) return *value;
  if (const auto value = ParseInt(text)) return *value;
  return {};
}

std::optional<YamlScalar> ResolveYamlScalarAs(NodeKind kind, std::string_view text) {
  switch (kind) {
    case NodeKind::kNull:
      return ParseNull(text);
    case NodeKind::kBool:
      return ParseBool(text);
    case NodeKind::kInt:
      return ParseInt(text);
    case NodeKind::kDouble: {
      if (const auto value = ParseFloat(text)) return value;
      // !!float 1 and !!float 1e5: Python's float() takes them.
      const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
      const std::string digits = WithoutUnderscores(text.substr(sign));
      double real = 0;
      const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), real);
      const bool is_whole = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
      const bool is_digit = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
      if (!is_whole || !is_digit) return std::nullopt;
      return OfDouble(text.starts_with('-') ? -real : real);
    }
    default:
      return YamlScalar{};
  }
}

}  // namespace trainfit::config
