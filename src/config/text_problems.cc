#include "config/text_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace trainfit::config {
namespace {

Diagnostic FileProblem(const std::string& name, std::string code, std::string message,
                       std::string suggestion = "") {
  SourceSpan span;
  span.file = name;
  return ErrorAt(std::move(span), std::move(code), std::move(message), std::move(suggestion));
}

}  // namespace

std::optional<Diagnostic> CheckWholeText(const std::string& name, std::string_view text,
                                         const ReadLimits& limits) {
  constexpr std::size_t kLargestOffset = std::numeric_limits<std::uint32_t>::max();
  const std::size_t max_bytes = std::min(limits.max_bytes, kLargestOffset);
  if (text.size() > max_bytes) {
    return FileProblem(name, "too-large",
                       fmt::format("the text is too large: {} bytes, at most {} are read",
                                   text.size(), max_bytes));
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return FileProblem(name, "not-utf8", "the text is UTF-16, not UTF-8", "save the file as UTF-8");
  }
  return std::nullopt;
}

std::optional<Diagnostic> FindOtherFormat(const Document& document, std::string_view wanted) {
  constexpr std::size_t kLooksAt = 64;
  constexpr std::string_view kLfsPointer = "version https://git-lfs";
  const std::string_view text = document.text;
  const std::size_t at = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const auto problem = [&](std::size_t length, std::string_view what, std::string suggestion) {
    return ErrorAt(SpanInText(document.name, text, at, at + length), "other-format",
                   fmt::format("this is {}, not {}", what, wanted), std::move(suggestion));
  };
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  const bool is_tag = next == '!' || next == '?' || (next >= 'A' && next <= 'z');
  if (text.substr(at).starts_with('<') && is_tag) {
    return problem(1, "a web page (HTML)",
                   "download the raw file instead of the page that shows it");
  }
  if (text.substr(at).starts_with(kLfsPointer)) {
    return problem(kLfsPointer.size(), "a Git LFS pointer", "git lfs pull");
  }
  if (text.substr(0, kLooksAt).find('\0') != std::string_view::npos) {
    return FileProblem(document.name, "other-format",
                       fmt::format("this is a binary file, not {}", wanted));
  }
  return std::nullopt;
}

void AppendDuplicateKeys(const Node& object, Diagnostics* problems) {
  constexpr std::size_t kShown = 20;
  std::unordered_map<std::string_view, const Member*> first;
  first.reserve(object.members.size());
  for (const Member& member : object.members) {
    const auto [it, is_new] = first.emplace(member.key, &member);
    if (is_new || problems->size() >= kShown) continue;
    const Document& document = *object.document;
    Diagnostic problem = ErrorAt(
        SpanInText(document.name, document.text, member.key_begin, member.key_end), "duplicate-key",
        fmt::format("the key {} appears twice", Quoted(member.key)), "remove one of them");
    const SourceSpan other =
        SpanInText("", document.text, it->second->key_begin, it->second->key_end);
    problem.notes.push_back(fmt::format("first at line {}, column {}", other.line, other.column));
    problems->push_back(std::move(problem));
  }
}

}  // namespace trainfit::config
