#include "config/yaml_places.h"

#include <algorithm>

namespace trainfit::config {
namespace {

std::size_t LineEnd(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of("\r\n", at), text.size());
}

// Behind the quote that closes the one at `at`, or npos.
std::size_t QuotedEnd(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == quote) {
      const bool is_doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!is_doubled) return i + 1;
      ++i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t SkipYamlProperties(std::string_view text, std::size_t at) {
  const std::size_t begin = std::min(at, text.size());
  std::size_t value = begin;
  while (value < text.size() && (text[value] == '&' || text[value] == '!')) {
    value = std::min(text.find_first_of(" \t\r\n", value), text.size());
    value = std::min(text.find_first_not_of(" \t", value), text.size());
  }
  const bool is_on_this_line =
      value < text.size() && text[value] != '\r' && text[value] != '\n' && text[value] != '#';
  return is_on_this_line ? value : begin;
}

std::size_t YamlScalarEnd(std::string_view text, std::size_t at, std::string_view value) {
  if (at >= text.size()) return text.size();
  if (text[at] == '"' || text[at] == '\'') return QuotedEnd(text, at);
  if (text.substr(at).starts_with(value)) return at + value.size();
  return LineEnd(text, at);
}

std::size_t YamlAliasEnd(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(" \t\r\n,[]{}", std::min(at, text.size())), text.size());
}

std::size_t YamlCollectionEnd(std::string_view text, std::size_t begin, std::size_t last_end) {
  last_end = std::clamp(last_end, std::min(begin, text.size()), text.size());
  if (begin >= text.size() || (text[begin] != '[' && text[begin] != '{')) return last_end;
  const std::size_t from = std::max(last_end, begin + 1);
  const std::size_t at = text.find_first_not_of(" \t\r\n,:", from);
  const bool is_closed =
      at != std::string_view::npos && text[at] == (text[begin] == '[' ? ']' : '}');
  return is_closed ? at + 1 : from;
}

}  // namespace trainfit::config
