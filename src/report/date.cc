#include "report/date.h"

#include <fmt/format.h>

#include <chrono>

#include "base/numeral.h"

namespace trainfit::report {
namespace {

// All of `text` as a number of digits alone, or nullopt.
std::optional<int> Number(std::string_view text) {
  constexpr std::int64_t kMost = 9999;
  const std::optional<std::int64_t> value = ParseInteger(text);
  if (!value || *value < 0 || *value > kMost) return std::nullopt;
  return static_cast<int>(*value);
}

std::chrono::year_month_day Calendar(Date date) {
  return {std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
          std::chrono::day(static_cast<unsigned>(date.day))};
}

}  // namespace

std::optional<Date> ParseDate(std::string_view text) {
  constexpr std::size_t kMonth = std::string_view("2026-11").size();
  constexpr std::size_t kDay = std::string_view("2026-11-09").size();
  if (text.size() != kMonth && text.size() != kDay) return std::nullopt;
  if (text[4] != '-' || (text.size() == kDay && text[7] != '-')) return std::nullopt;
  const std::optional<int> year = Number(text.substr(0, 4));
  const std::optional<int> month = Number(text.substr(5, 2));
  const std::optional<int> day = text.size() == kDay ? Number(text.substr(8, 2)) : 1;
  if (!year || !month || !day || *month < 1 || *day < 1) return std::nullopt;
  const Date date{*year, *month, *day};
  if (!Calendar(date).ok()) return std::nullopt;
  return date;
}

std::int64_t DayNumber(Date date) {
  return std::chrono::sys_days(Calendar(date)).time_since_epoch().count();
}

Date DateOfDay(std::int64_t day_number) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day_number))};
  return {static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day()))};
}

bool IsStalePrice(std::string_view price_date, const std::optional<Date>& today) {
  if (!today) return false;
  const std::optional<Date> date = ParseDate(price_date);
  return !date || DayNumber(*today) - DayNumber(*date) > kStalePriceDays;
}

std::string DateText(Date date) {
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

}  // namespace trainfit::report
