#include "readers/configs/value_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numeral.h"
#include "base/text.h"
#include "config/yaml_scalar.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;

// Far above anything that is trained, far below where arithmetic ends.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

std::string Joined(const Node& list) {
  std::string text = "[";
  for (const Node& item : list.items) {
    if (text.size() > 1) text += ", ";
    if (text.size() > 200) return text + "...]";
    text += ShortText(item);
  }
  return text + "]";
}

tl::unexpected<Diagnostics> WrongKind(const std::string& key, const Node& value,
                                      std::string_view wanted) {
  return Fail(ErrorAt(
      value.Span(), "wrong-type",
      fmt::format("{} must be {}, found {}", Quoted(key), wanted, Quoted(ShortText(value), 40))));
}

std::optional<bool> FlagOf(const Node& value) {
  if (value.kind == NodeKind::kBool) return value.boolean;
  if (value.kind == NodeKind::kInt && (value.integer == 0 || value.integer == 1)) {
    return value.integer == 1;
  }
  if (value.kind != NodeKind::kString) return std::nullopt;
  const config::YamlScalar scalar = config::ResolveYamlScalar(value.text);
  if (scalar.kind == NodeKind::kBool) return scalar.boolean;
  if (value.text == "1" || value.text == "0") return value.text == "1";
  return std::nullopt;
}

// 5e8 and 4096.0 are counts too.
std::optional<std::int64_t> CountOf(const Node& value) {
  std::optional<double> real;
  if (value.kind == NodeKind::kInt) return value.integer;
  if (value.kind == NodeKind::kDouble) real = value.real;
  if (value.kind == NodeKind::kString) {
    if (const auto whole = ParseInteger(value.text)) return whole;
    real = ParseDecimal(value.text);
  }
  if (!real || *real < 0 || *real > static_cast<double>(kMaxCount)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*real);
  if (static_cast<double>(whole) != *real) return std::nullopt;
  return whole;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<std::vector<std::string>> NamesOf(const Node& value) {
  std::vector<std::string> names;
  if (value.kind == NodeKind::kArray) {
    for (const Node& item : value.items) {
      if (item.kind != NodeKind::kString || item.text.empty()) return std::nullopt;
      names.push_back(item.text);
    }
    return names;
  }
  if (value.kind != NodeKind::kString) return std::nullopt;
  std::string_view rest = value.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
    const std::string_view name = Trim(rest.substr(0, end));
    if (!name.empty()) names.emplace_back(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (names.empty()) return std::nullopt;
  return names;
}

}  // namespace

std::string ShortText(const Node& value, int columns) {
  switch (value.kind) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kBool:
      return value.boolean ? "true" : "false";
    case NodeKind::kArray:
      return CutToWidth(Joined(value), columns);
    case NodeKind::kObject:
      return value.members.empty() ? "{}" : "{...}";
    default:
      return CutToWidth(value.text, columns);
  }
}

Expected<Said> ValueOf(Term term, const std::string& key, const Node& value) {
  Said said;
  said.key = key;
  said.span = value.Span();
  switch (KindOf(term)) {
    case ValueKind::kCount: {
      const std::optional<std::int64_t> count = CountOf(value);
      if (!count) return WrongKind(key, value, "a whole number");
      if (*count < 0 || *count > kMaxCount) {
        return Fail(ErrorAt(value.Span(), "out-of-range",
                            fmt::format("{} is {}: no run has that", Quoted(key), *count)));
      }
      said.count = *count;
      return said;
    }
    case ValueKind::kFlag: {
      const std::optional<bool> flag = FlagOf(value);
      if (!flag) return WrongKind(key, value, "true or false");
      said.flag = *flag;
      return said;
    }
    case ValueKind::kWord:
      if (value.kind == NodeKind::kObject) return WrongKind(key, value, "a word");
      for (const Node& item : value.items) said.word += (said.word.empty() ? "" : " ") + item.text;
      if (value.kind == NodeKind::kArray) return said;
      said.word = value.kind == NodeKind::kBool ? (value.boolean ? "true" : "false") : value.text;
      return said;
    case ValueKind::kNames: {
      std::optional<std::vector<std::string>> names = NamesOf(value);
      if (!names) return WrongKind(key, value, "a list of names");
      said.names = std::move(*names);
      return said;
    }
    case ValueKind::kFraction: {
      std::optional<double> number;
      if (value.IsNumber()) number = value.real;
      if (value.kind == NodeKind::kString) number = ParseDecimal(value.text);
      if (!number || *number < 0 || *number > 1) {
        return WrongKind(key, value, "a number from 0 to 1");
      }
      said.fraction = *number;
      return said;
    }
  }
  return said;
}

}  // namespace trainfit::readers
