#include "base/nearest_word.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace trainfit {
namespace {

constexpr std::size_t kLongestWord = 100;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Distance that still counts as "the same word, mistyped".
int Tolerance(std::string_view a, std::string_view b) {
  return static_cast<int>(std::max(a.size(), b.size()) / 3);
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b, int limit) {
  const std::size_t longer = std::max(a.size(), b.size());
  const std::size_t shorter = std::min(a.size(), b.size());
  if (limit < 0 || longer - shorter > static_cast<std::size_t>(limit)) return limit + 1;

  // Row i of the table holds the distances from a[0..i) to each beginning of b. A swap looks two
  // rows back, so that three rows are kept, and two must be hopeless before giving up.
  std::vector<int> before_last(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  int last_best = 0;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    int best = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
          Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
      best = std::min(best, row[j]);
    }
    if (best > limit && last_best > limit) return limit + 1;
    last_best = best;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::vector<std::string> NearestWords(std::string_view typed, std::span<const std::string> known,
                                      int count) {
  std::vector<std::pair<int, std::size_t>> near;  // distance and index: ties fall to the earlier
  if (typed.size() <= kLongestWord) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].size() > kLongestWord) continue;
      const int tolerance = Tolerance(typed, known[i]);
      const int distance = EditDistance(typed, known[i], tolerance);
      if (distance <= tolerance) near.emplace_back(distance, i);
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> words;
  for (const auto& [distance, index] : near) {
    if (static_cast<int>(words.size()) >= count) break;
    words.push_back(known[index]);
  }
  return words;
}

std::string NearestWord(std::string_view typed, std::span<const std::string> known) {
  std::vector<std::string> words = NearestWords(typed, known, 1);
  return words.empty() ? "" : std::move(words.front());
}

}  // namespace trainfit
