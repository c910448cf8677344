#include "catalog/names.h"

#include <algorithm>
#include <array>

#include "base/numeral.h"

namespace trainfit::catalog {
namespace {

// Words that do not tell two GPUs apart. tools/check_data has the same list.
constexpr std::array<std::string_view, 17> kNoise = {
    "nvidia",     "geforce",  "amd",     "radeon",      "instinct", "intel",
    "tesla",      "google",   "aws",     "apple",       "gpu",      "gpus",
    "generation", "graphics", "edition", "corporation", "r",
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsNumber(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), IsDigit);
}

// "80gb" → "80"; "a10g" stays.
void DropSizeUnit(std::string* word) {
  const std::size_t digits = word->find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos) return;
  const std::string_view unit = std::string_view(*word).substr(digits);
  if (unit == "gb" || unit == "gib" || unit == "g") word->resize(digits);
}

std::string Join(const std::vector<std::string>& words, std::size_t but) {
  std::string joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != but) joined += words[i];
  }
  return joined;
}

}  // namespace

std::vector<std::string> NameWords(Kind kind, std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (IsDigit(c) || (c >= 'a' && c <= 'z') || c == '.') {
      word += c;
    } else {
      finish();
    }
  }
  finish();
  if (kind != Kind::kGpu) return words;

  std::vector<std::string> telling;
  for (std::string& w : words) {
    DropSizeUnit(&w);
    if (std::find(kNoise.begin(), kNoise.end(), w) == kNoise.end()) telling.push_back(w);
  }
  return telling.empty() ? words : telling;
}

std::string NormalizeName(Kind kind, std::string_view name) {
  return Join(NameWords(kind, name), std::string::npos);
}

std::vector<SizedName> TakeSize(std::string_view name) {
  constexpr std::int64_t kLargestGb = 4096;
  const std::vector<std::string> words = NameWords(Kind::kGpu, name);
  std::vector<SizedName> found;
  if (words.size() < 2) return found;
  for (std::size_t i = words.size(); i-- > 0;) {
    if (!IsNumber(words[i]) || words[i].size() > 4) continue;
    const std::int64_t gb = ParseInteger(words[i]).value_or(0);
    if (gb > 0 && gb <= kLargestGb) found.push_back({Join(words, i), gb});
  }
  return found;
}

}  // namespace trainfit::catalog
