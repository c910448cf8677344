#include "base/text.h"

#include <gtest/gtest.h>

namespace trainfit {
namespace {

TEST(Utf8, RefusesWhatIsNotUtf8) {
  constexpr auto kNone = std::string_view::npos;
  EXPECT_EQ(FindInvalidUtf8("gr\u00fc\u00df \u6a21\u578b \U0001F600"), kNone);
  EXPECT_EQ(FindInvalidUtf8("a\xff"), 1u);
  EXPECT_EQ(FindInvalidUtf8("ab\xc3"), 2u);               // cut
  EXPECT_EQ(FindInvalidUtf8("\xc0\x80"), 0u);             // overlong
  EXPECT_EQ(FindInvalidUtf8("\xe0\x80\x80"), 0u);         // overlong
  EXPECT_EQ(FindInvalidUtf8("\xf0\x80\x80\x80"), 0u);     // overlong
  EXPECT_EQ(FindInvalidUtf8("\xed\xa0\x80"), 0u);         // surrogate
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0u);     // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("\xf4\x8f\xbf\xbf"), kNone);  // U+10FFFF
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("Qwen3"), 5);
  EXPECT_EQ(DisplayWidth("\u6a21\u578b"), 4);  // wide
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);       // combining accent
  EXPECT_EQ(DisplayWidth("\U0001F600"), 2);    // emoji
  EXPECT_EQ(DisplayWidth("\x1b[31m"), 4 + 4);  // \x1b
}

TEST(Printable, EscapesWhatCouldDriveATerminal) {
  EXPECT_EQ(Printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(Printable("line\nbreak\r\ttab"), "line\\nbreak\\r\\ttab");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\x7f\u009b"), "\\x7f\\x9b");
  EXPECT_EQ(Printable("abc\u202etxt"), "abc\\u202etxt");
  EXPECT_EQ(Printable("\u200b\ufeff\u2028"), "\\u200b\\ufeff\\u2028");
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("C:\\new \u00e9 \u6a21"), "C:\\new \u00e9 \u6a21");
}

TEST(CutToWidth, CutsBetweenLetters) {
  EXPECT_EQ(CutToWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(CutToWidth("abcdefg", 6), "abc...");
  EXPECT_EQ(CutToWidth("\u6a21\u6a21\u6a21\u6a21", 7), "\u6a21\u6a21...");
  EXPECT_EQ(CutToWidth("\u6a21\u6a21\u6a21\u6a21", 6), "\u6a21...");
  EXPECT_EQ(CutToWidth("abcdef", 2), "...");
}

TEST(Quoted, CutsLongNames) {
  EXPECT_EQ(Quoted("hidden_size"), "\"hidden_size\"");
  EXPECT_EQ(Quoted(std::string(1000, 'k')), '"' + std::string(57, 'k') + "...\"");
}

}  // namespace
}  // namespace trainfit
