#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainfit {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Units, GigabyteAndGibibyteDiffer) {
  EXPECT_EQ(kGB.value(), 1'000'000'000);
  EXPECT_EQ(kGiB.value(), 1'073'741'824);
  EXPECT_DOUBLE_EQ(InGB(80 * kGiB), 85.89934592);
  EXPECT_DOUBLE_EQ(InGiB(80 * kGB), 74.505805969238281);
  EXPECT_EQ(BytesFromGiB(79.5).value(), 79 * kGiB.value() + kGiB.value() / 2);
}

TEST(Units, BytesAreExactBeyondADouble) {
  const Bytes odd(9'007'199'254'740'993);  // 2^53 + 1
  EXPECT_EQ((odd + Bytes(2) - Bytes(1)).value(), 9'007'199'254'740'994);
  EXPECT_EQ((-odd + odd).value(), 0);
}

TEST(Units, QuotientsFollowTheExponents) {
  const Seconds transfer = Bytes(50 * kGB.value()) / BytesPerSecond(25e9);
  EXPECT_DOUBLE_EQ(transfer.value(), 2.0);
  const Seconds compute = Flops(1e15) / FlopsPerSecond(5e14);
  EXPECT_DOUBLE_EQ(compute.value(), 2.0);
  EXPECT_LT(compute - Seconds(0.5), transfer);
  EXPECT_DOUBLE_EQ(compute / transfer, 1.0);
}

TEST(Units, MoneyPerHour) {
  const DollarsPerSecond rate = PerHour(Dollars(3.6));
  EXPECT_DOUBLE_EQ((rate * Seconds(1000)).value(), 1.0);
  EXPECT_DOUBLE_EQ(InDollarsPerHour(rate).value(), 3.6);
}

TEST(Units, RoundsUpToTheAllocatorsStep) {
  EXPECT_EQ(RoundUp(Bytes(0), Bytes(512)).value(), 0);
  EXPECT_EQ(RoundUp(Bytes(1), Bytes(512)).value(), 512);
  EXPECT_EQ(RoundUp(Bytes(512), Bytes(512)).value(), 512);
  EXPECT_EQ(CeilDiv(7, 2), 4);
  EXPECT_EQ(CeilDiv(8, 2), 4);
}

TEST(UnitsDeathTest, OverflowIsAProgrammersMistake) {
  EXPECT_DEATH(Bytes(kMax) + Bytes(1), "");
  EXPECT_DEATH(Bytes(-kMax) - Bytes(2), "");
  EXPECT_DEATH(Bytes(kMax) * 2, "");
  EXPECT_EQ((Bytes(kMax) + Bytes(0)).value(), kMax);
}

}  // namespace
}  // namespace trainfit
