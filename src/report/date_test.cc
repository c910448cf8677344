#include "report/date.h"

#include <gtest/gtest.h>

namespace trainfit::report {
namespace {

TEST(Date, ReadsDaysAndMonths) {
  EXPECT_EQ(ParseDate("2026-11-09"), (Date{2026, 11, 9}));
  EXPECT_EQ(ParseDate("2026-11"), (Date{2026, 11, 1}));
  for (const char* text : {"", "2026", "2026-13-01", "2026-02-30", "2026/11/09", "2026-11-0x",
                           "-026-11-09", "2026-11-+9"}) {
    EXPECT_EQ(ParseDate(text), std::nullopt) << text;
  }
}

TEST(Date, CountsDays) {
  EXPECT_EQ(DayNumber({1970, 1, 1}), 0);
  EXPECT_EQ(DayNumber({2024, 3, 1}) - DayNumber({2024, 2, 28}), 2);
  for (const std::int64_t day : {0, 1, 365, 11'016, 20'787, 60'000}) {
    EXPECT_EQ(DayNumber(DateOfDay(day)), day);
  }
}

TEST(Date, APriceGoesStaleAfterSixtyDays) {
  const Date today{2026, 11, 30};
  EXPECT_FALSE(IsStalePrice("2026-11-30", today));
  EXPECT_FALSE(IsStalePrice("2026-10-01", today));
  EXPECT_TRUE(IsStalePrice("2026-09-30", today));
  EXPECT_TRUE(IsStalePrice("", today));
  EXPECT_FALSE(IsStalePrice("2020-01-01", std::nullopt));
}

}  // namespace
}  // namespace trainfit::report
