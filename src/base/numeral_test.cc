#include "base/numeral.h"

#include <gtest/gtest.h>

namespace trainfit {
namespace {

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseInteger("-42"), -42);
  EXPECT_EQ(ParseInteger("9223372036854775807"), 9223372036854775807);
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "1.5", "0x10", "9223372036854775808", "1e3"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ParseDecimal, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseDecimal("0.05"), 0.05);
  EXPECT_EQ(ParseDecimal("-1e3"), -1000.0);
  for (const char* text : {"", ".", "nan", "inf", "1e999", "1,5", "5%"}) {
    EXPECT_EQ(ParseDecimal(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace trainfit
