#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace trainfit::report {
namespace {

std::string Fixed(double value, int digits) {
  return Grouped(fmt::format("{:.{}f}", value, digits));
}

int SentenceDigits(double value) { return std::abs(value) < 999.95 ? 2 : 1; }

}  // namespace

std::string Grouped(std::string text) {
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(text.find('.'), text.size());
  while (at > first_digit + 3) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string WithCommas(std::int64_t value) { return Grouped(std::to_string(value)); }

std::string ShortCount(std::int64_t value) {
  constexpr std::array<std::string_view, 5> kSuffixes = {"", "K", "M", "B", "T"};
  double scaled = static_cast<double>(value);
  std::size_t suffix = 0;
  // 999.5 and more would round to a fourth digit.
  while (std::abs(scaled) >= 999.5 && suffix + 1 < kSuffixes.size()) {
    scaled /= 1000;
    ++suffix;
  }
  if (suffix == 0) return std::to_string(value);
  const int digits = std::abs(scaled) < 9.995 ? 2 : std::abs(scaled) < 99.95 ? 1 : 0;
  return Fixed(scaled, digits) + std::string(kSuffixes[suffix]);
}

std::string GiBColumn(Bytes bytes) {
  const std::string text = Fixed(InGiB(bytes), 2);
  return text == "0.00" && bytes > Bytes() ? "<0.01" : text;
}

std::string GiB(Bytes bytes) { return Fixed(InGiB(bytes), SentenceDigits(InGiB(bytes))) + " GiB"; }

std::string GiBAndGB(Bytes bytes) {
  return GiB(bytes) + " (" + Fixed(InGB(bytes), SentenceDigits(InGB(bytes))) + " GB)";
}

GiBPair DistinctGiB(Bytes first, Bytes second) {
  constexpr int kMostDigits = 6;
  GiBPair pair{GiB(first), GiB(second)};
  for (int digits = 2; pair.first == pair.second && first != second && digits <= kMostDigits;
       ++digits) {
    pair = {Fixed(InGiB(first), digits) + " GiB", Fixed(InGiB(second), digits) + " GiB"};
  }
  return pair;
}

std::string GiBRange(Bytes low, Bytes high) {
  return Fixed(InGiB(low), 2) + "–" + Fixed(InGiB(high), 2);
}

std::string GiBEstimate(Bytes point, Bytes low, Bytes high) {
  const double gib = InGiB(point);
  const int digits = gib < 9.995 ? 2 : gib < 99.95 ? 1 : 0;
  const double steps = gib < 9.995 ? 10 : 1;  // of an end, in one GiB
  const int end_digits = gib < 9.995 ? 1 : 0;
  return Fixed(gib, digits) + " (" + Fixed(std::floor(InGiB(low) * steps) / steps, end_digits) +
         "–" + Fixed(std::ceil(InGiB(high) * steps) / steps, end_digits) + ")";
}

std::string Percent(std::int64_t part, std::int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.05) return "<0.1 %";
  return fmt::format("{:.{}f} %", percent, part != 0 && std::abs(percent) < 0.95 ? 1 : 0);
}

std::string PerHourColumn(DollarsPerSecond price) {
  return Fixed(InDollarsPerHour(price).value(), 2);
}

}  // namespace trainfit::report
