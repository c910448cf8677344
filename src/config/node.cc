#include "config/node.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"
#include "config/json_diagnosis.h"

namespace trainfit::config {
namespace {

// What a message says was found: the value where it is short, else its kind.
std::string Found(const Node& node) {
  switch (node.kind) {
    case NodeKind::kBool:
      return node.boolean ? "true" : "false";
    case NodeKind::kInt:
    case NodeKind::kDouble:
      return CutToWidth(node.text, 40);
    case NodeKind::kString:
      return "the string " + Quoted(node.text, 40);
    default:
      return std::string(Name(node.kind));
  }
}

// A number in quotes, or one that YAML 1.1 reads as text, is the usual reason for a string where
// a number is wanted. Empty when the text is no number.
std::string SuggestNumber(const Node& node) {
  if (node.kind != NodeKind::kString || node.text.empty() || node.text.size() > 40) return "";
  if (JsonNumberEnd(node.text, 0) != node.text.size()) return "";
  const bool is_quoted =
      node.document != nullptr && node.begin < node.document->text.size() &&
      (node.document->text[node.begin] == '"' || node.document->text[node.begin] == '\'');
  if (is_quoted) return node.text + " without the quotes";
  const std::size_t e = node.text.find_first_of("eE");
  if (e == std::string::npos) return "";
  std::string mantissa = node.text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  std::string exponent = node.text.substr(e + 1);
  if (!exponent.empty() && exponent[0] != '+' && exponent[0] != '-') exponent = "+" + exponent;
  return mantissa + "e" + exponent + " (YAML reads " + node.text + " as text)";
}

tl::unexpected<Diagnostics> WrongType(const Node& value, std::string_view key,
                                      std::string_view wanted) {
  return Fail(ErrorAt(value.Span(), "wrong-type",
                      fmt::format("{} must be {}, found {}", Quoted(key), wanted, Found(value)),
                      SuggestNumber(value)));
}

// The member, or the reason why it cannot be had.
Expected<const Node*> Require(const Node& object, std::string_view key) {
  if (object.kind != NodeKind::kObject) {
    return Fail(
        ErrorAt(object.Span(), "wrong-type",
                fmt::format("expected an object with {}, found {}", Quoted(key), Found(object))));
  }
  if (const Node* value = object.Find(key)) return value;
  SourceSpan span = object.Span();
  span.length = 1;  // the brace: underlining a whole object says nothing
  Diagnostic missing = ErrorAt(span, "missing-key", fmt::format("{} is missing", Quoted(key)));
  for (const Member& member : object.members) {
    constexpr int kTypingErrors = 2;
    if (EditDistance(member.key, key, kTypingErrors) > kTypingErrors || key.size() < 5) continue;
    missing.suggestion = fmt::format("{} instead of {}", Quoted(key), Quoted(member.key));
    break;
  }
  return Fail(std::move(missing));
}

// True when a reader may use its fallback.
bool IsAbsent(const Node& object, std::string_view key) {
  if (object.kind != NodeKind::kObject) return false;
  const Node* value = object.Find(key);
  return value == nullptr || value->kind == NodeKind::kNull;
}

template <typename Number>
std::string RangeText(Number min, Number max, Number lowest, Number highest) {
  if (min <= lowest && max >= highest) return "a number that can be held";
  if (max >= highest) return fmt::format("at least {}", min);
  if (min <= lowest) return fmt::format("at most {}", max);
  return fmt::format("from {} to {}", min, max);
}

tl::unexpected<Diagnostics> OutOfRange(const Node& value, std::string_view key,
                                       const std::string& range) {
  return Fail(ErrorAt(value.Span(), "out-of-range",
                      fmt::format("{} must be {}, found {}", Quoted(key), range, Found(value))));
}

}  // namespace

const Node* Node::Find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

SourceSpan Node::Span() const {
  if (document == nullptr) return {};
  return SpanInText(document->name, document->text, begin, end);
}

std::string_view Name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kBool:
      return "true or false";
    case NodeKind::kInt:
    case NodeKind::kDouble:
      return "a number";
    case NodeKind::kString:
      return "a string";
    case NodeKind::kArray:
      return "an array";
    case NodeKind::kObject:
      return "an object";
  }
  return "a value";
}

Expected<std::int64_t> GetInt(const Node& object, std::string_view key, std::int64_t min,
                              std::int64_t max) {
  ASSIGN_OR_RETURN(const Node* value, Require(object, key));
  if (!value->IsNumber()) return WrongType(*value, key, "a whole number");
  const bool is_whole =
      value->kind == NodeKind::kInt || std::trunc(value->real) == value->real;  // false for NaN
  if (!is_whole) return WrongType(*value, key, "a whole number");
  // 1e6 and 4096.0 are whole numbers too; up to 2^53 a double holds them exactly. Beyond, no count
  // of ours is meant.
  constexpr double kExactInDouble = 9007199254740992.0;
  const bool is_held = value->kind == NodeKind::kInt || std::abs(value->real) <= kExactInDouble;
  const std::int64_t integer = value->kind == NodeKind::kInt
                                   ? value->integer
                                   : static_cast<std::int64_t>(is_held ? value->real : 0);
  if (!is_held || integer < min || integer > max) {
    return OutOfRange(*value, key,
                      RangeText(min, max, std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()));
  }
  return integer;
}

Expected<std::int64_t> GetIntOr(const Node& object, std::string_view key, std::int64_t min,
                                std::int64_t max, std::int64_t fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetInt(object, key, min, max);
}

Expected<double> GetDouble(const Node& object, std::string_view key, double min, double max) {
  ASSIGN_OR_RETURN(const Node* value, Require(object, key));
  if (!value->IsNumber()) return WrongType(*value, key, "a number");
  const bool is_inside = value->real >= min && value->real <= max;  // false for NaN
  if (!is_inside) {
    return OutOfRange(*value, key,
                      RangeText(min, max, std::numeric_limits<double>::lowest(),
                                std::numeric_limits<double>::max()));
  }
  return value->real;
}

Expected<double> GetDoubleOr(const Node& object, std::string_view key, double min, double max,
                             double fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetDouble(object, key, min, max);
}

Expected<bool> GetBoolOr(const Node& object, std::string_view key, bool fallback) {
  if (IsAbsent(object, key)) return fallback;
  ASSIGN_OR_RETURN(const Node* value, Require(object, key));
  if (value->kind != NodeKind::kBool) return WrongType(*value, key, "true or false");
  return value->boolean;
}

Expected<std::string> GetString(const Node& object, std::string_view key) {
  ASSIGN_OR_RETURN(const Node* value, Require(object, key));
  if (value->kind != NodeKind::kString) return WrongType(*value, key, "a string");
  return value->text;
}

Expected<std::string> GetStringOr(const Node& object, std::string_view key, std::string fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetString(object, key);
}

}  // namespace trainfit::config
