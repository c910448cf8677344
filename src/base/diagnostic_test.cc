#include "base/diagnostic.h"

#include <gtest/gtest.h>

#include "base/basis.h"
#include "base/expected.h"

namespace trainfit {
namespace {

// The rendered error at [begin, end) of a one-line text.
std::string RenderAt(std::string_view text, std::size_t begin, std::size_t end) {
  return RenderText(ErrorAt(SpanInText("f", text, begin, end), "code", "m"));
}

TEST(RenderText, WhatWhereWhyAndWhatToDo) {
  Diagnostic diagnostic =
      ErrorAt(SpanInText("config.json", "{\n  \"num_heads\": -3\n}\n", 17, 19), "out-of-range",
              "\"num_heads\" must be at least 1, found -3", "32");
  diagnostic.notes = {"hidden_size is 4096", "head_dim is 128"};
  EXPECT_EQ(RenderText(diagnostic),
            "config.json:2:16: error: \"num_heads\" must be at least 1, found -3\n"
            "    \"num_heads\": -3\n"
            "                 ^~\n"
            "  note: hidden_size is 4096\n"
            "  note: head_dim is 128\n"
            "  try: 32\n");
}

TEST(RenderText, AsMuchOfThePlaceAsIsKnown) {
  EXPECT_EQ(RenderText(Error("c", "no GPU is called h101", "h100")),
            "error: no GPU is called h101\n"
            "  try: h100\n");
  SourceSpan whole_file;
  whole_file.file = "models/x";
  EXPECT_EQ(RenderText(ErrorAt(whole_file, "c", "no such file")),
            "models/x: error: no such file\n");
  SourceSpan line_only;
  line_only.file = "f";
  line_only.line = 3;
  Diagnostic warning = ErrorAt(line_only, "c", "m");
  warning.severity = Severity::kWarning;
  EXPECT_EQ(RenderText(warning), "f:3: warning: m\n");
  warning.severity = Severity::kNote;
  EXPECT_EQ(RenderText(warning), "f:3: note: m\n");
}

TEST(RenderText, CaretUnderWideLettersAndTabs) {
  EXPECT_EQ(RenderAt("\u6a21\u578b: x", 8, 9),
            "f:1:9: error: m\n"
            "  \u6a21\u578b: x\n"
            "        ^\n");
  EXPECT_EQ(RenderAt("\t\tkey", 2, 5),
            "f:1:3: error: m\n"
            "      key\n"
            "      ^~~\n");
  EXPECT_EQ(RenderAt("e\u0301 x", 4, 5),
            "f:1:5: error: m\n"
            "  e\u0301 x\n"
            "    ^\n");
  EXPECT_EQ(RenderAt("a \u6a21\u578b b", 2, 8),
            "f:1:3: error: m\n"
            "  a \u6a21\u578b b\n"
            "    ^~~~\n");
}

TEST(RenderText, CaretBehindTheLine) {
  EXPECT_EQ(RenderAt("abc", 3, 3),
            "f:1:4: error: m\n"
            "  abc\n"
            "     ^\n");
  EXPECT_EQ(RenderAt("abc\r\nx", 2, 5),
            "f:1:3: error: m\n"
            "  abc\n"
            "    ^\n");
}

// 10 letters a word, so that columns can be read off.
std::string LongLine() {
  std::string line;
  for (char c = 'a'; c < 'a' + 20; ++c) line += std::string(9, c) + "|";
  return line;
}

TEST(RenderText, LongLineIsCutAroundTheCaret) {
  EXPECT_EQ(RenderAt(LongLine(), 10, 19),
            "f:1:11: error: m\n"
            "  aaaaaaaaa|bbbbbbbbb|ccccccccc|ddddddddd|eeeeeeeee|fffffffff|ggggggggg...\n"
            "            ^~~~~~~~~\n");
  EXPECT_EQ(RenderAt(LongLine(), 100, 200),
            "f:1:101: error: m\n"
            "  ...fffffff|ggggggggg|hhhhhhhhh|iiiiiiiii|jjjjjjjjj|kkkkkkkkk|llllllll...\n"
            "                                                     ^~~~~~~~~~~~~~~~~~\n");
  EXPECT_EQ(RenderAt(LongLine(), 200, 200),
            "f:1:201: error: m\n"
            "  ...nnnnnnnn|ooooooooo|ppppppppp|qqqqqqqqq|rrrrrrrrr|sssssssss|ttttttttt|\n"
            "                                                                          ^\n");
}

TEST(RenderText, ReadersMayKeepAPartOfTheLine) {
  const std::string line = std::string(100'000, 'x') + "HERE" + std::string(100'000, 'y');
  const SourceSpan span = SpanInText("f", line, 100'000, 100'004);
  EXPECT_LT(span.source_line.size(), 1000u);
  EXPECT_EQ(span.column, 100'001);
  EXPECT_EQ(RenderText(ErrorAt(span, "c", "m")),
            "f:1:100001: error: m\n"
            "  ..." +
                std::string(48, 'x') + "HERE" + std::string(14, 'y') + "...\n" + "  " +
                std::string(51, ' ') + "^~~~\n");
}

TEST(RenderText, InputCannotDriveTheTerminal) {
  Diagnostic diagnostic = ErrorAt(SpanInText("a\x1b[31m\nb", "k: \x1b[2J\u202e!", 0, 1), "c",
                                  "unknown key \"\nerror: fake\"", "\x07");
  diagnostic.notes = {"one\ntwo"};
  EXPECT_EQ(RenderText(diagnostic),
            "a\\x1b[31m\\nb:1:1: error: unknown key \"\\nerror: fake\"\n"
            "  k: \\x1b[2J\\u202e!\n"
            "  ^\n"
            "  note: one\\ntwo\n"
            "  try: \\x07\n");
}

TEST(RenderText, VeryLongNamesAreCut) {
  SourceSpan span;
  span.file = std::string(5000, 'd') + "/config.json";
  const std::string text = RenderText(ErrorAt(span, "c", std::string(100'000, 'm')));
  EXPECT_EQ(text, "..." + std::string(148, 'd') + "/config.json: error: " + std::string(597, 'm') +
                      "...\n");
}

TEST(RenderText, WrongPositionsDoNoHarm) {
  const SourceSpan odd{.file = "f", .line = 1, .column = 900, .length = 9, .source_line = "ab"};
  EXPECT_EQ(RenderText(ErrorAt(odd, "c", "m")), "f:1:900: error: m\n  ab\n    ^\n");
  const SourceSpan cut{
      .file = "f", .line = 1, .column = 2, .length = -1, .source_line = "ab", .source_start = 50};
  EXPECT_EQ(RenderText(ErrorAt(cut, "c", "m")), "f:1:2: error: m\n  ...ab\n     ^\n");
}

TEST(SpanInText, CountsLinesAndColumnsFromOne) {
  const std::string text = "one\ntwo\r\n\nfour";
  const SourceSpan two = SpanInText("f", text, 4, 7);
  EXPECT_EQ(two, (SourceSpan{"f", 2, 1, 3, "two", 0}));
  EXPECT_EQ(SpanInText("f", text, 9, 9), (SourceSpan{"f", 3, 1, 0, "", 0}));
  EXPECT_EQ(SpanInText("f", text, 12, 99), (SourceSpan{"f", 4, 3, 2, "four", 0}));
  EXPECT_EQ(SpanInText("f", text, 99, 99), (SourceSpan{"f", 4, 5, 0, "four", 0}));
  EXPECT_EQ(SpanInText("f", "", 0, 0), (SourceSpan{"f", 1, 1, 0, "", 0}));
  EXPECT_EQ(SpanInText("f", "a\n", 2, 2), (SourceSpan{"f", 2, 1, 0, "", 0}));
}

TEST(SpanInText, UnderlinesOneLineOnly) {
  EXPECT_EQ(SpanInText("f", "{\n}", 0, 3).length, 1);
  EXPECT_EQ(SpanInText("f", "{\r\n}", 0, 4).length, 1);
}

Expected<int> Half(int number) {
  if (number % 2 != 0) return Fail(Error("odd", "an odd number"));
  return number / 2;
}

Expected<int> Quarter(int number) {
  ASSIGN_OR_RETURN(const int half, Half(number));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Expected, PassesTheErrorsOn) {
  EXPECT_EQ(Quarter(12), 3);
  ASSERT_FALSE(Quarter(6).has_value());
  EXPECT_EQ(Quarter(6).error(), Diagnostics{Error("odd", "an odd number")});
}

TEST(Basis, HasNames) {
  EXPECT_EQ(Name(Basis::kExact), "exact");
  EXPECT_EQ(Name(Basis::kGiven), "given");
}

}  // namespace
}  // namespace trainfit
