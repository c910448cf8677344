#include "cli/values.h"

#include <fmt/format.h>

#include "base/numeral.h"

namespace trainfit::cli {
namespace {

constexpr std::int64_t kKilo = 1024;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Diagnostic OutOfBounds(std::string_view text, std::string_view least, std::string_view most) {
  return Error("out-of-range",
               fmt::format("{} is out of range: from {} to {}", CutToWidth(text, 40), least, most));
}

std::string Commas(std::int64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace

std::string Normalized(std::string_view text) {
  std::string word(text);
  for (char& c : word) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

std::optional<Diagnostic> ReadCount(std::string_view text, Bounds bounds, bool allow_k,
                                    std::int64_t* value) {
  std::string_view digits = text;
  const bool has_k = allow_k && (digits.ends_with('k') || digits.ends_with('K'));
  if (has_k) digits.remove_suffix(1);
  std::string_view unsigned_digits = digits;
  if (unsigned_digits.starts_with('-')) unsigned_digits.remove_prefix(1);
  bool is_number = !unsigned_digits.empty();
  for (const char c : unsigned_digits) is_number = is_number && IsDigit(c);
  if (!is_number) {
    return Error(
        "not-a-number", Quoted(text, 40) + " is not a whole number",
        allow_k ? "digits, or digits and k for times 1024: 4096, 4k" : "digits alone, like 8");
  }
  const std::optional<std::int64_t> number = ParseInteger(digits);
  if (!number || *number < bounds.min || *number > bounds.max / (has_k ? kKilo : 1)) {
    return OutOfBounds(text, Commas(bounds.min), Commas(bounds.max));
  }
  *value = *number * (has_k ? kKilo : 1);
  return std::nullopt;
}

std::optional<Diagnostic> ReadFraction(std::string_view text, double min, double max,
                                       double* value) {
  const std::optional<double> number = ParseDecimal(text);
  if (!number) {
    return Error("not-a-number", Quoted(text, 40) + " is not a number", "a decimal, like 0.05");
  }
  if (*number < min || *number >= max) {
    return OutOfBounds(text, fmt::format("{}", min), fmt::format("below {}", max));
  }
  *value = *number;
  return std::nullopt;
}

Diagnostic UnknownWord(std::string_view what, std::string_view typed,
                       const std::vector<std::string>& words) {
  Diagnostic diagnostic =
      Error("unknown-" + std::string(what), "unknown " + std::string(what) + " " + Quoted(typed),
            NearestWord(typed, words));
  std::string known = "known: ";
  for (const std::string& word : words) known += (known.size() > 7 ? ", " : "") + word;
  diagnostic.notes.push_back(known);
  return diagnostic;
}

std::optional<Diagnostic> ReadBytes(std::string_view text, std::optional<std::int64_t>* bytes) {
  struct Unit {
    std::string_view word;
    double bytes;
  };
  double unit = 1e9;
  for (const Unit& row : {Unit{"gib", 1073741824.0}, Unit{"gb", 1e9}, Unit{"g", 1e9}}) {
    if (!Normalized(text).ends_with(row.word)) continue;
    text.remove_suffix(row.word.size());
    unit = row.bytes;
    break;
  }
  while (text.ends_with(' ')) text.remove_suffix(1);
  double number = 0;
  std::optional<Diagnostic> complaint = ReadFraction(text, 0.001, 1e6, &number);
  if (!complaint) *bytes = static_cast<std::int64_t>(number * unit);
  return complaint;
}

std::optional<Diagnostic> ReadFloatType(std::string_view text, std::optional<spec::Dtype>* dtype) {
  const std::optional<spec::Dtype> read = spec::ParseDtype(text);
  const bool is_float =
      read == spec::Dtype::kFp32 || read == spec::Dtype::kBf16 || read == spec::Dtype::kFp16;
  if (!is_float) return UnknownWord("type", text, {"fp32", "bf16", "fp16"});
  *dtype = read;
  return std::nullopt;
}

}  // namespace trainfit::cli
