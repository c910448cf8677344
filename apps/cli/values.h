// Values of options: strict numbers, and words with the names that frameworks give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "base/diagnostic.h"
#include "base/nearest_word.h"
#include "base/text.h"

namespace trainfit::cli {

// "AdamW_8bit" → "adamw-8bit": case and '_' make no difference in words and option names.
std::string Normalized(std::string_view text);

struct Bounds {
  std::int64_t min = 1;
  std::int64_t max = 1;
};
// A whole number in digits; with `allow_k`, "2k" means 2048. Nothing else is a number.
std::optional<Diagnostic> ReadCount(std::string_view text, Bounds bounds, bool allow_k,
                                    std::int64_t* value);
// A decimal number in [min, max).
std::optional<Diagnostic> ReadFraction(std::string_view text, double min, double max,
                                       double* value);

// "24 GB", "22.4GiB"; a number alone is in GB, as tables have it.
std::optional<Diagnostic> ReadBytes(std::string_view text, std::optional<std::int64_t>* bytes);
// fp32, bf16 or fp16, by any of their names.
std::optional<Diagnostic> ReadFloatType(std::string_view text, std::optional<spec::Dtype>* dtype);

// What frameworks call a value that has another printed name here.
template <typename Enum>
struct Synonym {
  std::string_view word;
  Enum value;
};

// The printed words of an enumeration, from its first value to `last`.
template <typename Enum>
std::vector<std::string> PrintedWords(Enum last) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    words.emplace_back(Name(static_cast<Enum>(i)));
  }
  return words;
}

template <auto kLast>
std::vector<std::string> WordsUpTo() {
  return PrintedWords(kLast);
}

// "unknown optimizer "adamv"", with the words there are and the nearest of them.
Diagnostic UnknownWord(std::string_view what, std::string_view typed,
                       const std::vector<std::string>& words);

template <typename Enum, typename Synonyms>
std::optional<Diagnostic> ReadWord(std::string_view what, std::string_view typed, Enum last,
                                   const Synonyms& synonyms, std::optional<Enum>* value) {
  const std::string word = Normalized(typed);
  const std::vector<std::string> words = PrintedWords(last);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) {
      *value = static_cast<Enum>(i);
      return std::nullopt;
    }
  }
  for (const Synonym<Enum>& synonym : synonyms) {
    if (synonym.word == word) {
      *value = synonym.value;
      return std::nullopt;
    }
  }
  return UnknownWord(what, typed, words);
}

}  // namespace trainfit::cli
