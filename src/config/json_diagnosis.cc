#include "config/json_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "config/text_problems.h"

namespace trainfit::config {
namespace {

constexpr std::string_view kSyntax = "json-syntax";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNonAscii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
// What people write without a space: words, numbers, versions.
bool IsWordByte(char c) {
  return IsDigit(c) || IsLetter(c) || IsNonAscii(c) || c == '.' || c == '-' || c == '+';
}

// A word that people write where JSON has another.
struct KnownWord {
  std::string_view word;
  std::string_view suggestion;
};
constexpr KnownWord kKnownWords[] = {
    {"NaN", "null, or leave the key out"},
    {"nan", "null, or leave the key out"},
    {"Infinity", "a large number, or leave the key out"},
    {"-Infinity", "a large negative number, or leave the key out"},
    {"inf", "a large number, or leave the key out"},
    {"True", "true"},
    {"False", "false"},
    {"TRUE", "true"},
    {"FALSE", "false"},
    {"yes", "true"},
    {"no", "false"},
    {"None", "null"},
    {"NULL", "null"},
    {"Null", "null"},
    {"nil", "null"},
    {"undefined", "null"},
};

// One text, and the place where its parser stopped.
class Diagnosis {
 public:
  Diagnosis(const Document& document, const JsonStop& stop)
      : document_(document), text_(document.text), stop_(stop) {}

  Diagnostic Run() const;

 private:
  char At(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  bool StartsWith(std::size_t at, std::string_view prefix) const {
    return text_.substr(std::min(at, text_.size())).starts_with(prefix);
  }
  std::size_t WordBegin(std::size_t at) const;
  std::size_t WordEnd(std::size_t at) const;
  bool IsGluedToNumber(std::size_t at) const;
  std::string_view TokenAt(std::size_t at) const;
  std::string PlaceText(std::size_t at) const;

  Diagnostic Syntax(std::size_t begin, std::size_t length, std::string message,
                    std::string suggestion = "") const {
    return ErrorAt(SpanInText(document_.name, text_, begin, begin + length), std::string(kSyntax),
                   std::move(message), std::move(suggestion));
  }

  Diagnostic Truncated() const;
  Diagnostic AfterValue(std::size_t at) const;
  Diagnostic AfterWholeText(std::size_t at) const;
  Diagnostic BadKey(std::size_t at) const;
  Diagnostic BadValue(std::size_t at) const;
  Diagnostic BadWord(std::size_t at) const;
  Diagnostic BadNumber(std::size_t at) const;
  int SurrogateAt(std::size_t at) const;
  Diagnostic BadString(std::size_t at) const;
  Diagnostic BadEscape(std::size_t backslash) const;
  Diagnostic BadBracket(std::size_t at) const;
  Diagnostic NotUtf8(std::size_t at) const;
  bool IsTypographicQuote(std::size_t at) const;
  Diagnostic Unexpected(std::size_t at) const;
  bool IsComment(std::size_t at) const {
    return At(at) == '#' || StartsWith(at, "//") || StartsWith(at, "/*");
  }
  Diagnostic Comment(std::size_t at) const {
    const std::size_t line_end = std::min(text_.find('\n', at), text_.size());
    return Syntax(at, line_end - at, "JSON has no comments", "remove the comment");
  }

  const Document& document_;
  const std::string_view text_;
  const JsonStop& stop_;
};

std::size_t Diagnosis::WordEnd(std::size_t at) const {
  while (at < text_.size() && IsWordByte(text_[at])) ++at;
  return at;
}

std::size_t Diagnosis::WordBegin(std::size_t at) const {
  while (at > 0 && IsWordByte(text_[at - 1])) --at;
  return at;
}

// 007, 1.2.3, 10k: the parser took the beginning for a number.
bool Diagnosis::IsGluedToNumber(std::size_t at) const {
  return at == stop_.end && at > 0 && IsDigit(text_[at - 1]) && IsWordByte(text_[at]);
}

// What stands at `at`: a word, or one character.
std::string_view Diagnosis::TokenAt(std::size_t at) const {
  const std::size_t end = WordEnd(at);
  if (end > at) return text_.substr(at, end - at);
  return text_.substr(at, at < text_.size() ? DecodeUtf8(text_, at).length : 0);
}

std::string Diagnosis::PlaceText(std::size_t at) const {
  const SourceSpan span = SpanInText("", text_, at, at);
  return fmt::format("line {}, column {}", span.line, span.column);
}

Diagnostic Diagnosis::Run() const {
  const std::size_t at = SkipJsonSpace(text_, stop_.end);
  if (at == text_.size()) return Truncated();
  switch (stop_.accepted) {
    case JsonAccepted::kNothing:
      if (std::optional<Diagnostic> other = FindOtherFormat(document_, "JSON"))
        return *std::move(other);
      return BadValue(at);
    case JsonAccepted::kArrayBegin:
      return BadValue(at);
    case JsonAccepted::kObjectBegin:
      return BadKey(at);
    case JsonAccepted::kKey:
      if (text_[at] == ':') return BadValue(SkipJsonSpace(text_, at + 1));
      if (IsComment(at)) return Comment(at);
      return Syntax(
          at, TokenAt(at).size(),
          fmt::format("expected ':' after the key, found '{}'", CutToWidth(TokenAt(at), 20)));
    case JsonAccepted::kValue:
      return AfterValue(at);
    case JsonAccepted::kWholeText:
      return AfterWholeText(at);
  }
  return Unexpected(at);
}

// The text ended too early. The caret goes behind the last thing written, not to an empty line.
Diagnostic Diagnosis::Truncated() const {
  const std::size_t last = text_.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    Diagnostic nothing =
        Syntax(0, 0, text_.empty() ? "the file is empty" : "the file holds white space only");
    nothing.span.source_line.clear();
    return nothing;
  }
  Diagnostic diagnostic = Syntax(
      last + 1, 0,
      stop_.opened_at == std::string_view::npos
          ? "the text ends before its value is complete"
          : fmt::format("the text ends inside an {}", stop_.is_in_object ? "object" : "array"));
  diagnostic.code = "json-truncated";
  if (stop_.opened_at != std::string_view::npos) {
    diagnostic.notes.push_back(
        fmt::format("'{}' was opened at {}", text_[stop_.opened_at], PlaceText(stop_.opened_at)));
  }
  diagnostic.suggestion = "if it was downloaded or copied, fetch it again: a part is missing";
  return diagnostic;
}

// A member or item is complete; neither a comma nor the right bracket follows well.
Diagnostic Diagnosis::AfterValue(std::size_t at) const {
  if (text_[at] == ',') {
    const std::size_t next = SkipJsonSpace(text_, at + 1);
    if (next == text_.size()) return Truncated();
    if (text_[next] == '}' || text_[next] == ']') {
      return Syntax(at, 1, fmt::format("comma before the closing '{}'", text_[next]),
                    "remove the comma");
    }
    return stop_.is_in_object ? BadKey(next) : BadValue(next);
  }
  if (text_[at] == '}' || text_[at] == ']') return BadBracket(at);
  if (IsComment(at)) return Comment(at);
  if (!DecodeUtf8(text_, at).valid) return NotUtf8(at);
  if (IsGluedToNumber(at)) return BadNumber(WordBegin(at));
  Diagnostic diagnostic =
      Syntax(at, TokenAt(at).size(),
             fmt::format("expected ',' or '{}' after the value, found '{}'",
                         stop_.is_in_object ? '}' : ']', CutToWidth(TokenAt(at), 20)));
  if (text_[at] == '"' || text_[at] == '{' || text_[at] == '[' || IsDigit(text_[at])) {
    diagnostic.suggestion = fmt::format("a comma behind {}", PlaceText(stop_.end));
  }
  return diagnostic;
}

Diagnostic Diagnosis::AfterWholeText(std::size_t at) const {
  if (IsComment(at)) return Comment(at);
  if (!DecodeUtf8(text_, at).valid) return NotUtf8(at);
  if (IsGluedToNumber(at)) return BadNumber(WordBegin(at));
  const bool is_next_line =
      text_.substr(stop_.end, at - stop_.end).find('\n') != std::string_view::npos;
  if (text_[at] == '{' && is_next_line) {
    return Syntax(at, 1, "a second value after the end of the first: this is JSON Lines, not JSON",
                  "one object, in a file of its own");
  }
  return Syntax(
      at, TokenAt(at).size(),
      fmt::format("text after the end of the JSON value: '{}'", CutToWidth(TokenAt(at), 20)));
}

Diagnostic Diagnosis::BadKey(std::size_t at) const {
  const char c = text_[at];
  if (c == '"') return BadString(at);
  if (IsComment(at)) return Comment(at);
  if (!DecodeUtf8(text_, at).valid) return NotUtf8(at);
  if (c == ']') return BadBracket(at);
  if (c == ',') return Syntax(at, 1, "a member is missing before ','", "remove the comma");
  if (c == '\'') {
    return Syntax(at, 1, "a key must stand in double quotes, not in single ones");
  }
  if (IsTypographicQuote(at)) return Unexpected(at);
  const std::string_view word = TokenAt(at);
  return Syntax(at, word.size(),
                fmt::format("a key must stand in double quotes, found '{}'", CutToWidth(word, 20)),
                IsWordByte(c) ? Quoted(word) : "");
}

Diagnostic Diagnosis::BadValue(std::size_t at) const {
  if (at >= text_.size()) return Truncated();
  const char c = text_[at];
  if (c == '"') return BadString(at);
  if (IsComment(at)) return Comment(at);
  if (c == '\'') return Syntax(at, 1, "a string must stand in double quotes, not in single ones");
  if (c == '}' || c == ']') {
    if (stop_.accepted == JsonAccepted::kKey) {
      return Syntax(at, 1, fmt::format("a value is missing before '{}'", c));
    }
    return BadBracket(at);
  }
  if (c == ',') return Syntax(at, 1, "a value is missing before ','");
  if (!DecodeUtf8(text_, at).valid) return NotUtf8(at);
  if (c == '-' && IsLetter(At(at + 1))) return BadWord(at);
  if (IsDigit(c) || c == '-' || c == '+' || c == '.') return BadNumber(at);
  if (IsLetter(c)) return BadWord(at);
  return Unexpected(at);
}

Diagnostic Diagnosis::BadWord(std::size_t at) const {
  const std::string_view word = TokenAt(at);
  const std::string message = fmt::format("'{}' is not a JSON value", CutToWidth(word, 40));
  for (const KnownWord& known : kKnownWords) {
    if (word == known.word) {
      return Syntax(at, word.size(), message, std::string(known.suggestion));
    }
  }
  const bool is_cut = at + word.size() == text_.size();
  if (is_cut &&
      (std::string_view("true").starts_with(word) || std::string_view("false").starts_with(word) ||
       std::string_view("null").starts_with(word))) {
    return Truncated();
  }
  return Syntax(at, word.size(), message, Quoted(word) + ", if a string is meant");
}

Diagnostic Diagnosis::BadNumber(std::size_t at) const {
  const std::size_t end = WordEnd(at);
  const std::string_view word = text_.substr(at, end - at);
  const std::string shown = CutToWidth(word, 40);
  if (!word.empty() && JsonNumberEnd(text_, at) == end) {
    Diagnostic diagnostic =
        Syntax(at, word.size(), fmt::format("the number {} is too large: at most 1.8e308", shown));
    diagnostic.code = "number-too-large";
    return diagnostic;
  }
  std::string why;
  const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
  if (word.starts_with('+')) {
    why = ": no '+' before it";
  } else if (digits.starts_with('.')) {
    why = ": a digit is needed before the point";
  } else if (digits.ends_with('.')) {
    why = ": a digit is needed after the point";
  } else if (digits.find('_') != std::string_view::npos) {
    why = ": no '_' between digits";
  } else if (digits.starts_with("0x") || digits.starts_with("0X")) {
    why = ": decimal digits only";
  } else if (digits.size() > 1 && digits[0] == '0' && IsDigit(digits[1])) {
    why = ": no zeros before it";
  }
  return Syntax(at, word.size(), fmt::format("'{}' is not a JSON number{}", shown, why));
}

// The UTF-16 surrogate written as \uD8.. at `at`, or 0.
int Diagnosis::SurrogateAt(std::size_t at) const {
  const std::string_view escape = text_.substr(std::min(at, text_.size()), 6);
  if (escape.size() < 6 || !escape.starts_with("\\u")) return 0;
  int unit = 0;
  const auto result = std::from_chars(escape.data() + 2, escape.data() + 6, unit, 16);
  const bool is_hex = result.ec == std::errc() && result.ptr == escape.data() + 6;
  return is_hex && unit >= 0xD800 && unit <= 0xDFFF ? unit : 0;
}

Diagnostic Diagnosis::BadString(std::size_t at) const {
  for (std::size_t i = at + 1; i < text_.size();) {
    const CodePoint c = DecodeUtf8(text_, i);
    if (!c.valid) return NotUtf8(i);
    if (c.value == '"') break;
    if (c.value == '\n' || c.value == '\r') {
      return Syntax(at, i - at, "the string is not closed on its line",
                    "close it with '\"'; a line break inside is written \\n");
    }
    if (c.value < 0x20) {
      return Syntax(
          i, 1,
          fmt::format("a control character (0x{:02x}) inside a string",
                      static_cast<unsigned>(c.value)),
          c.value == '\t' ? "\\t" : fmt::format("\\u{:04x}", static_cast<unsigned>(c.value)));
    }
    if (c.value == '\\') {
      const bool is_short =
          std::string_view("\"\\/bfnrt").find(At(i + 1)) != std::string_view::npos;
      const bool is_hex = At(i + 1) == 'u' && IsHexDigit(At(i + 2)) && IsHexDigit(At(i + 3)) &&
                          IsHexDigit(At(i + 4));
      if (i + 1 >= text_.size()) break;
      if (!is_short && !is_hex) return BadEscape(i);
      const int unit = is_hex ? SurrogateAt(i) : 0;
      if (unit != 0 && !(unit < 0xDC00 && SurrogateAt(i + 6) >= 0xDC00)) {
        return Syntax(
            i, 6,
            fmt::format("{} is half of a pair; the other half is missing", text_.substr(i, 6)));
      }
      if (unit != 0) i += 6;
      i += is_hex ? 6 : 2;
      continue;
    }
    i += c.length;
  }
  Diagnostic diagnostic = Truncated();
  diagnostic.message = "the text ends inside a string";
  return diagnostic;
}

Diagnostic Diagnosis::BadEscape(std::size_t backslash) const {
  if (At(backslash + 1) == 'u') {
    return Syntax(backslash, 2, "\\u needs four hexadecimal digits");
  }
  const int length = 1 + DecodeUtf8(text_, backslash + 1).length;
  return Syntax(backslash, length,
                fmt::format("'{}' means nothing in a JSON string", text_.substr(backslash, length)),
                "two backslashes, if one is meant");
}

// A closing bracket of the other kind, or one too many.
Diagnostic Diagnosis::BadBracket(std::size_t at) const {
  if (stop_.opened_at == std::string_view::npos) {
    return Syntax(at, 1, fmt::format("'{}' closes nothing", text_[at]));
  }
  Diagnostic diagnostic = Syntax(
      at, 1, fmt::format("'{}' where '{}' is needed", text_[at], stop_.is_in_object ? '}' : ']'));
  diagnostic.notes.push_back(
      fmt::format("'{}' was opened at {}", text_[stop_.opened_at], PlaceText(stop_.opened_at)));
  return diagnostic;
}

Diagnostic Diagnosis::NotUtf8(std::size_t at) const {
  Diagnostic diagnostic =
      Syntax(at, 1,
             fmt::format("byte 0x{:02x} is not UTF-8",
                         static_cast<unsigned>(static_cast<unsigned char>(text_[at]))),
             "save the file as UTF-8");
  diagnostic.code = "not-utf8";
  return diagnostic;
}

// As word processors and chat programs write them.
bool Diagnosis::IsTypographicQuote(std::size_t at) const {
  const char32_t c = DecodeUtf8(text_, at).value;
  return c == 0x201C || c == 0x201D || c == 0x201E || c == 0x2018 || c == 0x2019;
}

Diagnostic Diagnosis::Unexpected(std::size_t at) const {
  const CodePoint c = DecodeUtf8(text_, at);
  if (IsTypographicQuote(at)) {
    return Syntax(at, c.length, "a typographic quote; JSON needs the plain '\"'", "\"");
  }
  if (c.value >= 0x80) {
    return Syntax(at, c.length,
                  fmt::format("unexpected character U+{:04X}", static_cast<unsigned>(c.value)));
  }
  return Syntax(at, c.length, fmt::format("unexpected '{}'", text_.substr(at, c.length)));
}

}  // namespace

std::size_t SkipJsonSpace(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

std::size_t JsonNumberEnd(std::string_view text, std::size_t at) {
  const auto digits_end = [&](std::size_t i) {
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i;
  };
  std::size_t i = at;
  if (i < text.size() && text[i] == '-') ++i;
  std::size_t end = i < text.size() && text[i] == '0' ? i + 1 : digits_end(i);
  if (end == i) return at;
  if (end < text.size() && text[end] == '.' && digits_end(end + 1) > end + 1) {
    end = digits_end(end + 1);
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (digits_end(exponent) > exponent) end = digits_end(exponent);
  }
  return end;
}

Diagnostic DiagnoseJson(const Document& document, const JsonStop& stop) {
  return Diagnosis(document, stop).Run();
}

}  // namespace trainfit::config
