// Calendar days, to say how old a price is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainfit::report {

struct Date {
  int year = 1970;
  int month = 1;
  int day = 1;
  auto operator<=>(const Date&) const = default;
};

// "2026-11-09", or "2026-11", which means its first day: a price is at most that old.
std::optional<Date> ParseDate(std::string_view text);

// "2026-11-09".
std::string DateText(Date date);

// Days since 1970-01-01, and back (proleptic Gregorian calendar).
std::int64_t DayNumber(Date date);
Date DateOfDay(std::int64_t day_number);

// A price older than this is flagged: rental prices move within weeks.
inline constexpr std::int64_t kStalePriceDays = 60;
// Undated prices are stale; without today's date nothing is.
bool IsStalePrice(std::string_view price_date, const std::optional<Date>& today);

}  // namespace trainfit::report
