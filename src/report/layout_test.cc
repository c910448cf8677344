#include "report/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace trainfit::report {
namespace {

using testing::ElementsAre;

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_THAT(Wrap("two words and more", 9), ElementsAre("two words", "and more"));
  EXPECT_THAT(Wrap("  many   spaces  ", 80), ElementsAre("many spaces"));
  EXPECT_THAT(Wrap("", 80), ElementsAre(""));
}

TEST(Wrap, BreaksAWordThatIsLongerThanTheLine) {
  EXPECT_THAT(Wrap("a abcdefghij b", 4), ElementsAre("a", "abcd", "efgh", "ij b"));
  EXPECT_THAT(Wrap("×××××", 2), ElementsAre("××", "××", "×"));
}

TEST(Wrap, NeverDrivesTheTerminal) {
  EXPECT_THAT(Wrap("a\x1b[31mb\nc", 80), ElementsAre("a\\x1b[31mb\\nc"));
}

TEST(Paragraph, HangsUnderItsLabel) {
  EXPECT_EQ(Paragraph("  note", "one two three four five six", 8, 28, Style(false)),
            "  note  one two three four\n"
            "        five six\n");
}

Table SampleTable() {
  Table table(2, {{"name", Align::kLeft, 6}, {"n", Align::kRight}, {""}});
  table.Row({{"weights"}, {"12"}, {"fits"}});
  table.Row({{"activations at the peak"}, {"3"}, {""}});
  table.Note("a note that is longer than the table is wide");
  return table;
}

TEST(Table, ColumnsAreAsWideAsTheirTexts) {
  EXPECT_EQ(SampleTable().Text(80, Style(false)),
            "  name                      n\n"
            "  weights                  12  fits\n"
            "  activations at the peak   3\n"
            "      a note that is longer than the table is wide\n");
}

TEST(Table, WrappingColumnsGiveWay) {
  EXPECT_EQ(SampleTable().Text(30, Style(false)),
            "  name                 n\n"
            "  weights             12  fits\n"
            "  activations at the   3\n"
            "  peak\n"
            "      a note that is longer\n"
            "      than the table is wide\n");
  EXPECT_EQ(SampleTable().NarrowestWidth(), 2 + 6 + 2 + 2 + 2 + 4);
}

TEST(Table, ColourChangesNoColumn) {
  Table table(0, {{"a"}, {"b", Align::kRight}});
  table.Row({{"×", Tone::kStrong}, {"12", Tone::kBad}});
  EXPECT_EQ(table.Text(80, Style(true)),
            "\x1b[2ma\x1b[0m   \x1b[2mb\x1b[0m\n"
            "\x1b[1m×\x1b[0m  \x1b[1;31m12\x1b[0m\n");
}

TEST(ToAscii, KeepsColumns) {
  EXPECT_EQ(ToAscii("█▌░·▲ 2 × 3 – 5 … ≤ ü"), "#=+.^ 2 x 3 - 5 ... <= ?");
}

}  // namespace
}  // namespace trainfit::report
