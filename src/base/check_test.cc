#include "base/check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace trainfit {
namespace {

void PrintAndExit(const std::string& message) {
  std::cerr << message;
  std::_Exit(3);
}

void Return(const std::string&) {}

TEST(CheckDeathTest, GivesPlaceConditionAndSentenceToTheHandler) {
  EXPECT_EXIT(
      {
        SetCheckHandler(PrintAndExit);
        const int ranks = 0;
        CHECK(ranks > 0) << "a plan has ranks, found " << ranks;
      },
      testing::ExitedWithCode(3), "check_test\\.cc:[0-9]+: ranks > 0: a plan has ranks, found 0");
}

TEST(CheckDeathTest, AbortsWithoutAHandlerAndWhenTheHandlerReturns) {
  EXPECT_EXIT(CHECK(false) << "no handler", testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(
      {
        SetCheckHandler(Return);
        CHECK(false) << "returned";
      },
      testing::KilledBySignal(SIGABRT), "");
}

TEST(Check, HoldsQuietlyAndAsksOnce) {
  int asked = 0;
  CHECK(++asked == 1) << "never evaluated: " << ++asked;
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace trainfit
