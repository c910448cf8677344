#include "report/bar.h"

#include <gtest/gtest.h>

namespace trainfit::report {
namespace {

TEST(Bar, RoundsToEighths) {
  EXPECT_EQ(Bar(0, 4), "");
  EXPECT_EQ(Bar(1, 4), "████");
  EXPECT_EQ(Bar(0.5, 4), "██");
  EXPECT_EQ(Bar(0.5 + 1.0 / 32, 4), "██▏");
  EXPECT_EQ(Bar(1e-9, 4), "▏");
  EXPECT_EQ(Bar(7, 4), "████");
  EXPECT_EQ(Bar(-1, 4), "");
}

std::string Plain(Gauge gauge) { return GaugeText(gauge, "16 GiB", 1, 16, Style(false)); }

TEST(Gauge, ShowsTheRangeAndTheRoom) {
  EXPECT_EQ(Plain({{kGiB * 3, kGiB * 5}, kGiB * 10, kGiB * 16}),
            " ████████░░······\n"
            "         16 GiB ▲\n");
}

TEST(Gauge, ShowsWhatIsTooMuch) {
  EXPECT_EQ(Plain({{kGiB * 24, kGiB * 4}, kGiB * 32, kGiB * 16}),
            " ████████▒▒▒▒▒▒░░\n"
            " 16 GiB ▲\n");
}

TEST(Gauge, TheLabelFindsRoom) {
  EXPECT_EQ(Plain({{kGiB * 128}, kGiB * 128, kGiB * 16}),
            " ██▒▒▒▒▒▒▒▒▒▒▒▒▒▒\n"
            "  ▲ 16 GiB\n");
  EXPECT_EQ(Plain({{}, Bytes(), Bytes()}),
            " ················\n"
            " ▲ 16 GiB\n");
}

TEST(Gauge, PartsHaveTheirColours) {
  EXPECT_EQ(GaugeText({{kGiB, kGiB}, kGiB * 2, kGiB * 4}, "4", 0, 4, Style(true)),
            "\x1b[34m█\x1b[0m\x1b[36m█\x1b[0m\x1b[2m··\x1b[0m\n"
            " 4 ▲\n");
}

}  // namespace
}  // namespace trainfit::report
