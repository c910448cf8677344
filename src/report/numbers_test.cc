#include "report/numbers.h"

#include <gtest/gtest.h>

namespace trainfit::report {
namespace {

TEST(Numbers, CountsAreGroupedAndShortened) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(7'241'732'096), "7,241,732,096");
  EXPECT_EQ(WithCommas(-1000), "-1,000");
  EXPECT_EQ(ShortCount(512), "512");
  EXPECT_EQ(ShortCount(41'943'040), "41.9M");
  EXPECT_EQ(ShortCount(7'241'732'096), "7.24B");
  EXPECT_EQ(ShortCount(999'600), "1.00M");
  EXPECT_EQ(ShortCount(1'040'000'000'000), "1.04T");
}

TEST(Numbers, GiBKeepsItsUnit) {
  EXPECT_EQ(GiBColumn(BytesFromGiB(1043.16)), "1,043.16");
  EXPECT_EQ(GiBColumn(Bytes(512)), "<0.01");
  EXPECT_EQ(GiBColumn(Bytes(0)), "0.00");
  EXPECT_EQ(GiBColumn(BytesFromGiB(-1.5)), "-1.50");
  EXPECT_EQ(GiB(BytesFromGiB(9.787)), "9.79 GiB");
  EXPECT_EQ(GiB(BytesFromGiB(1043.16)), "1,043.2 GiB");
  EXPECT_EQ(GiBAndGB(BytesFromGiB(80)), "80.00 GiB (85.90 GB)");
  EXPECT_EQ(GiBRange(BytesFromGiB(9.12), BytesFromGiB(10.94)), "9.12–10.94");
}

TEST(Numbers, RangesAreRoundedOutwards) {
  const auto shown = [](double low, double point, double high) {
    return GiBEstimate(BytesFromGiB(point), BytesFromGiB(low), BytesFromGiB(high));
  };
  EXPECT_EQ(shown(6.25, 6.625, 7.41), "6.62 (6.2–7.5)");
  EXPECT_EQ(shown(15.9, 16.75, 17.1), "16.8 (15–18)");
  EXPECT_EQ(shown(108.9, 112, 118.1), "112 (108–119)");
}

TEST(Numbers, DifferentAmountsLookDifferent) {
  GiBPair pair = DistinctGiB(BytesFromGiB(79.101), BytesFromGiB(79.099));
  EXPECT_EQ(pair.first, "79.101 GiB");
  EXPECT_EQ(pair.second, "79.099 GiB");
  pair = DistinctGiB(BytesFromGiB(110.25), BytesFromGiB(23.5));
  EXPECT_EQ(pair.first, "110.25 GiB");
  EXPECT_EQ(pair.second, "23.50 GiB");
  pair = DistinctGiB(kGiB, kGiB);
  EXPECT_EQ(pair.first, pair.second);
  // One byte of a terabyte is not worth more digits.
  pair = DistinctGiB(kGiB * 1024, kGiB * 1024 + Bytes(1));
  EXPECT_EQ(pair.first, "1,024.000000 GiB");
}

TEST(Numbers, PercentAndPrice) {
  EXPECT_EQ(Percent(1, 1), "100 %");
  EXPECT_EQ(Percent(0, 7), "0 %");
  EXPECT_EQ(Percent(58, 10'000), "0.6 %");
  EXPECT_EQ(Percent(1, 1'000'000), "<0.1 %");
  EXPECT_EQ(PerHourColumn(PerHour(Dollars(32.8))), "32.80");
  EXPECT_EQ(PerHourColumn(PerHour(Dollars(1234.5))), "1,234.50");
}

}  // namespace
}  // namespace trainfit::report
