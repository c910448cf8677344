#include "config/json_reader.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainfit::config {
namespace {

// All complaints about the text, rendered.
std::string ErrorsOf(const std::string& text, const ReadLimits& limits = {}) {
  const Expected<Node> node = ParseJson("c.json", text, limits);
  if (node.has_value()) return "no error";
  std::string rendered;
  for (const Diagnostic& problem : node.error()) rendered += RenderText(problem);
  return rendered;
}

Node Parsed(const std::string& text, const ReadLimits& limits = {}) {
  Expected<Node> node = ParseJson("c.json", text, limits);
  EXPECT_TRUE(node.has_value()) << ErrorsOf(text, limits);
  return node.has_value() ? *std::move(node) : Node();
}

// The part of the text that the node covers.
std::string Covered(const Node& node) {
  return node.document->text.substr(node.begin, node.end - node.begin);
}

TEST(ParseJson, EveryNodeKnowsItsPlace) {
  const Node root = Parsed(
      "{\n  \"a\" : [1, -2.5e3 ,\"x\\n\"],\n  \"b\": {\"c\": true, \"d\": null}, \"e\":[]\n}\n");
  ASSERT_EQ(root.kind, NodeKind::kObject);
  EXPECT_EQ(root.begin, 0u);
  ASSERT_EQ(root.members.size(), 3u);
  EXPECT_EQ(root.members[1].key, "b");
  EXPECT_EQ(root.document->text.substr(root.members[1].key_begin, 3), "\"b\"");
  EXPECT_EQ(root.members[1].key_end - root.members[1].key_begin, 3u);

  const Node& a = *root.Find("a");
  EXPECT_EQ(Covered(a), "[1, -2.5e3 ,\"x\\n\"]");
  ASSERT_EQ(a.items.size(), 3u);
  EXPECT_EQ(Covered(a.items[0]), "1");
  EXPECT_EQ(Covered(a.items[1]), "-2.5e3");
  EXPECT_EQ(Covered(a.items[2]), "\"x\\n\"");
  EXPECT_EQ(a.items[2].text, "x\n");
  EXPECT_EQ(Covered(*root.Find("b")), "{\"c\": true, \"d\": null}");
  EXPECT_EQ(Covered(*root.Find("b")->Find("c")), "true");
  EXPECT_EQ(Covered(*root.Find("b")->Find("d")), "null");
  EXPECT_EQ(Covered(*root.Find("e")), "[]");
  EXPECT_EQ(root.Find("z"), nullptr);

  const SourceSpan span = a.items[1].Span();
  EXPECT_EQ(span, (SourceSpan{"c.json", 2, 13, 6, "  \"a\" : [1, -2.5e3 ,\"x\\n\"],", 0}));
}

TEST(ParseJson, Numbers) {
  const Node root = Parsed(
      "[0, -7, 9223372036854775807, 9223372036854775808, 1e6, 0.1, -0.0,"
      " 1000000000000000019884624838656]");
  ASSERT_EQ(root.items.size(), 8u);
  EXPECT_EQ(root.items[1].integer, -7);
  EXPECT_EQ(root.items[1].real, -7);
  EXPECT_EQ(root.items[2].kind, NodeKind::kInt);
  EXPECT_EQ(root.items[2].integer, 9223372036854775807);
  EXPECT_EQ(root.items[3].kind, NodeKind::kDouble);
  EXPECT_EQ(root.items[3].real, 9223372036854775808.0);
  EXPECT_EQ(root.items[4].kind, NodeKind::kDouble);
  EXPECT_EQ(root.items[4].text, "1e6");
  EXPECT_TRUE(std::signbit(root.items[6].real));
  EXPECT_EQ(root.items[7].kind, NodeKind::kDouble);
  EXPECT_EQ(root.items[7].real, 1000000000000000019884624838656.0);
  EXPECT_EQ(root.items[7].text, "1000000000000000019884624838656");
}

TEST(ParseJson, Strings) {
  EXPECT_EQ(Parsed(R"("\u00fc \ud83d\ude00 \"\\\/\b\f\n\r\t")").text,
            "\u00fc \U0001F600 \"\\/\b\f\n\r\t");
  EXPECT_EQ(Parsed(R"("\u0000")").text, std::string(1, '\0'));
  EXPECT_EQ(Parsed("{\"\": 1}").Find("")->integer, 1);
}

TEST(ParseJson, SkipsAByteOrderMarkAndTakesCarriageReturns) {
  const Node root = Parsed("\xEF\xBB\xBF{\r\n\"a\": 1}\r\n");
  EXPECT_EQ(root.begin, 0u);
  EXPECT_EQ(root.Find("a")->Span(), (SourceSpan{"c.json", 2, 6, 1, "\"a\": 1}", 0}));
}

TEST(ParseJson, NonFiniteNumbersOnRequest) {
  const ReadLimits limits{.allow_non_finite = true};
  const Node root = Parsed(
      "{\"time_step_limit\": [0.0, Infinity],\"x\":-Infinity , \"y\":NaN, "
      "\"s\":\"Infinity\\\"NaN\"}",
      limits);
  const Node& limit = root.Find("time_step_limit")->items[1];
  EXPECT_EQ(limit.kind, NodeKind::kDouble);
  EXPECT_TRUE(std::isinf(limit.real));
  EXPECT_EQ(limit.text, "Infinity");
  EXPECT_EQ(Covered(limit), "Infinity");
  EXPECT_EQ(root.Find("x")->real, -limit.real);
  EXPECT_EQ(root.Find("x")->text, "-Infinity");
  EXPECT_TRUE(std::isnan(root.Find("y")->real));
  EXPECT_EQ(root.Find("s")->text, "Infinity\"NaN");
  EXPECT_TRUE(std::isinf(Parsed("Infinity", limits).real));

  EXPECT_EQ(ErrorsOf("[1NaN]", limits),
            "c.json:1:2: error: '1NaN' is not a JSON number\n"
            "  [1NaN]\n"
            "   ^~~~\n");
  EXPECT_EQ(ErrorsOf("[Infinity1]", limits),
            "c.json:1:2: error: 'Infinity1' is not a JSON value\n"
            "  [Infinity1]\n"
            "   ^~~~~~~~~\n"
            "  try: \"Infinity1\", if a string is meant\n");
  EXPECT_EQ(ErrorsOf("{Infinity: 1}", limits),
            "c.json:1:2: error: a key must stand in double quotes, found 'Infinity'\n"
            "  {Infinity: 1}\n"
            "   ^~~~~~~~\n"
            "  try: \"Infinity\"\n");
}

TEST(ParseJsonErrors, NonFinite) {
  EXPECT_EQ(ErrorsOf("{\"a\": NaN}"),
            "c.json:1:7: error: 'NaN' is not a JSON value\n"
            "  {\"a\": NaN}\n"
            "        ^~~\n"
            "  try: null, or leave the key out\n");
  EXPECT_EQ(ErrorsOf("[-Infinity]"),
            "c.json:1:2: error: '-Infinity' is not a JSON value\n"
            "  [-Infinity]\n"
            "   ^~~~~~~~~\n"
            "  try: a large negative number, or leave the key out\n");
}

TEST(ParseJsonErrors, EmptyAndBlank) {
  EXPECT_EQ(ErrorsOf(""), "c.json:1:1: error: the file is empty\n");
  EXPECT_EQ(ErrorsOf(" \n\t\n"), "c.json:1:1: error: the file holds white space only\n");
}

TEST(ParseJsonErrors, TrailingComma) {
  EXPECT_EQ(ErrorsOf("{\n  \"a\": 1,\n}\n"),
            "c.json:2:9: error: comma before the closing '}'\n"
            "    \"a\": 1,\n"
            "          ^\n"
            "  try: remove the comma\n");
  EXPECT_EQ(ErrorsOf("[1, 2, ]"),
            "c.json:1:6: error: comma before the closing ']'\n"
            "  [1, 2, ]\n"
            "       ^\n"
            "  try: remove the comma\n");
}

TEST(ParseJsonErrors, Commas) {
  EXPECT_EQ(ErrorsOf("{\"a\": 1\n \"b\": 2}"),
            "c.json:2:2: error: expected ',' or '}' after the value, found '\"'\n"
            "   \"b\": 2}\n"
            "   ^\n"
            "  try: a comma behind line 1, column 8\n");
  EXPECT_EQ(ErrorsOf("[1,,2]"),
            "c.json:1:4: error: a value is missing before ','\n"
            "  [1,,2]\n"
            "     ^\n");
  EXPECT_EQ(ErrorsOf("{,}"),
            "c.json:1:2: error: a member is missing before ','\n"
            "  {,}\n"
            "   ^\n"
            "  try: remove the comma\n");
}

TEST(ParseJsonErrors, Comments) {
  EXPECT_EQ(ErrorsOf("{\n  \"lr\": 1, // warm\n}"),
            "c.json:2:12: error: JSON has no comments\n"
            "    \"lr\": 1, // warm\n"
            "             ^~~~~~~\n"
            "  try: remove the comment\n");
  for (const char* text : {"# a\n{}", "/* a */ {}", "{/**/}", "{\"a\" /**/: 1}", "{\"a\": //\n1}",
                           "[1 // a\n]", "{} // end"}) {
    EXPECT_NE(ErrorsOf(text).find("JSON has no comments"), std::string::npos) << text;
  }
}

TEST(ParseJsonErrors, Keys) {
  EXPECT_EQ(ErrorsOf("{stage: 3}"),
            "c.json:1:2: error: a key must stand in double quotes, found 'stage'\n"
            "  {stage: 3}\n"
            "   ^~~~~\n"
            "  try: \"stage\"\n");
  EXPECT_EQ(ErrorsOf("{'stage': 3}"),
            "c.json:1:2: error: a key must stand in double quotes, not in single ones\n"
            "  {'stage': 3}\n"
            "   ^\n");
  EXPECT_EQ(ErrorsOf("{\u201cstage\u201d: 3}"),
            "c.json:1:2: error: a typographic quote; JSON needs the plain '\"'\n"
            "  {\u201cstage\u201d: 3}\n"
            "   ^\n"
            "  try: \"\n");
  EXPECT_EQ(ErrorsOf("{\"stage\" = 3}"),
            "c.json:1:10: error: expected ':' after the key, found '='\n"
            "  {\"stage\" = 3}\n"
            "           ^\n");
  EXPECT_EQ(ErrorsOf("{\"stage\": }"),
            "c.json:1:11: error: a value is missing before '}'\n"
            "  {\"stage\": }\n"
            "            ^\n");
}

TEST(ParseJsonErrors, DuplicateKeysAllOfThem) {
  EXPECT_EQ(ErrorsOf("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 1},\n \"a\": 2}"),
            "c.json:1:24: error: the key \"c\" appears twice\n"
            "  {\"a\": 1, \"b\": {\"c\": 1, \"c\": 1},\n"
            "                         ^~~\n"
            "  note: first at line 1, column 16\n"
            "  try: remove one of them\n"
            "c.json:2:2: error: the key \"a\" appears twice\n"
            "   \"a\": 2}\n"
            "   ^~~\n"
            "  note: first at line 1, column 2\n"
            "  try: remove one of them\n");
  // Equal after unescaping.
  EXPECT_NE(ErrorsOf(R"({"a": 1, "\u0061": 2})"), "no error");
  EXPECT_EQ(ErrorsOf(R"({"a": 1, "A": 2, "b": {"a": 1}})"), "no error");
}

TEST(ParseJsonErrors, Words) {
  EXPECT_EQ(ErrorsOf("{\"a\": True}"),
            "c.json:1:7: error: 'True' is not a JSON value\n"
            "  {\"a\": True}\n"
            "        ^~~~\n"
            "  try: true\n");
  EXPECT_EQ(ErrorsOf("[None]"),
            "c.json:1:2: error: 'None' is not a JSON value\n"
            "  [None]\n"
            "   ^~~~\n"
            "  try: null\n");
  EXPECT_EQ(ErrorsOf("[bf16]"),
            "c.json:1:2: error: 'bf16' is not a JSON value\n"
            "  [bf16]\n"
            "   ^~~~\n"
            "  try: \"bf16\", if a string is meant\n");
  EXPECT_EQ(ErrorsOf("['x']"),
            "c.json:1:2: error: a string must stand in double quotes, not in single ones\n"
            "  ['x']\n"
            "   ^\n");
  EXPECT_EQ(ErrorsOf("[*]"),
            "c.json:1:2: error: unexpected '*'\n"
            "  [*]\n"
            "   ^\n");
  EXPECT_EQ(ErrorsOf("[\u00a01]"),
            "c.json:1:2: error: unexpected character U+00A0\n"
            "  [\u00a01]\n"
            "   ^\n");
}

TEST(ParseJsonErrors, Numbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"007", "'007' is not a JSON number: no zeros before it"},
      {"-012", "'-012' is not a JSON number: no zeros before it"},
      {"+1", "'+1' is not a JSON number: no '+' before it"},
      {".5", "'.5' is not a JSON number: a digit is needed before the point"},
      {"5.", "'5.' is not a JSON number: a digit is needed after the point"},
      {"1_000", "'1_000' is not a JSON number: no '_' between digits"},
      {"0x10", "'0x10' is not a JSON number: decimal digits only"},
      {"10k", "'10k' is not a JSON number"},
      {"1.2.3", "'1.2.3' is not a JSON number"},
      {"1e", "'1e' is not a JSON number"},
      {"-", "'-' is not a JSON number"},
      {"1e999", "the number 1e999 is too large: at most 1.8e308"},
      {"-1e999", "the number -1e999 is too large: at most 1.8e308"},
  };
  for (const auto& [number, message] : cases) {
    const std::string underline = '^' + std::string(std::string(number).size() - 1, '~');
    EXPECT_EQ(ErrorsOf(number), "c.json:1:1: error: " + std::string(message) + "\n  " + number +
                                    "\n  " + underline + "\n");
    const std::string inside = "[0, " + std::string(number) + "]";
    EXPECT_EQ(ErrorsOf(inside), "c.json:1:5: error: " + std::string(message) + "\n  " + inside +
                                    "\n      " + underline + "\n");
  }
}

TEST(ParseJsonErrors, Strings) {
  EXPECT_EQ(ErrorsOf("{\"path\": \"C:\\data\"}"),
            "c.json:1:13: error: '\\d' means nothing in a JSON string\n"
            "  {\"path\": \"C:\\data\"}\n"
            "              ^~\n"
            "  try: two backslashes, if one is meant\n");
  EXPECT_EQ(ErrorsOf("[\"\\u12g4\"]"),
            "c.json:1:3: error: \\u needs four hexadecimal digits\n"
            "  [\"\\u12g4\"]\n"
            "    ^~\n");
  EXPECT_EQ(ErrorsOf("[\"\\ud83d\"]"),
            "c.json:1:3: error: \\ud83d is half of a pair; the other half is missing\n"
            "  [\"\\ud83d\"]\n"
            "    ^~~~~~\n");
  EXPECT_EQ(ErrorsOf("[\"a\tb\"]"),
            "c.json:1:4: error: a control character (0x09) inside a string\n"
            "  [\"a  b\"]\n"
            "     ^~\n"
            "  try: \\t\n");
  EXPECT_EQ(ErrorsOf("{\"a\": \"b,\n\"c\": 1}"),
            "c.json:1:7: error: the string is not closed on its line\n"
            "  {\"a\": \"b,\n"
            "        ^~~\n"
            "  try: close it with '\"'; a line break inside is written \\n\n");
}

TEST(ParseJsonErrors, Brackets) {
  EXPECT_EQ(ErrorsOf("{\"a\": [1, 2}"),
            "c.json:1:12: error: '}' where ']' is needed\n"
            "  {\"a\": [1, 2}\n"
            "             ^\n"
            "  note: '[' was opened at line 1, column 7\n");
  EXPECT_EQ(ErrorsOf("]"),
            "c.json:1:1: error: ']' closes nothing\n"
            "  ]\n"
            "  ^\n");
}

constexpr char kFetchAgain[] =
    "  try: if it was downloaded or copied, fetch it again: a part is missing\n";

TEST(ParseJsonErrors, Truncated) {
  EXPECT_EQ(ErrorsOf("{\n  \"a\": [1,\n"),
            std::string("c.json:2:11: error: the text ends inside an array\n"
                        "    \"a\": [1,\n"
                        "            ^\n"
                        "  note: '[' was opened at line 2, column 8\n") +
                kFetchAgain);
  EXPECT_EQ(ErrorsOf("[\"abc"), std::string("c.json:1:6: error: the text ends inside a string\n"
                                            "  [\"abc\n"
                                            "       ^\n"
                                            "  note: '[' was opened at line 1, column 1\n") +
                                    kFetchAgain);
  for (const char* text : {"{", "{\"a\"", "{\"a\":", "{\"a\": tr", "{\"a\": 1", "{\"a\": 1,", "[",
                           "\"", "\"\\", "nul"}) {
    const Expected<Node> node = ParseJson("c.json", text);
    ASSERT_FALSE(node.has_value()) << text;
    EXPECT_EQ(node.error()[0].code, "json-truncated") << text;
  }
}

TEST(ParseJsonErrors, TextAfterTheEnd) {
  EXPECT_EQ(ErrorsOf("{} x"),
            "c.json:1:4: error: text after the end of the JSON value: 'x'\n"
            "  {} x\n"
            "     ^\n");
  EXPECT_EQ(ErrorsOf("{\"a\": 1}\n{\"a\": 2}\n"),
            "c.json:2:1: error: a second value after the end of the first: this is JSON Lines, not "
            "JSON\n"
            "  {\"a\": 2}\n"
            "  ^\n"
            "  try: one object, in a file of its own\n");
}

TEST(ParseJsonErrors, OtherFormats) {
  EXPECT_EQ(ErrorsOf("<!DOCTYPE html>\n"),
            "c.json:1:1: error: this is a web page (HTML), not JSON\n"
            "  <!DOCTYPE html>\n"
            "  ^\n"
            "  try: download the raw file instead of the page that shows it\n");
  EXPECT_EQ(ErrorsOf("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
            "c.json:1:1: error: this is a Git LFS pointer, not JSON\n"
            "  version https://git-lfs.github.com/spec/v1\n"
            "  ^~~~~~~~~~~~~~~~~~~~~~~\n"
            "  try: git lfs pull\n");
  EXPECT_EQ(ErrorsOf(std::string("\x08\0\0\0\0\0\0\0{}", 10)),
            "c.json: error: this is a binary file, not JSON\n");
  EXPECT_EQ(ErrorsOf("\xff\xfe{\0}\0"),
            "c.json: error: the text is UTF-16, not UTF-8\n"
            "  try: save the file as UTF-8\n");
}

TEST(ParseJsonErrors, InvalidUtf8) {
  EXPECT_EQ(ErrorsOf("{\"a\": \"caf\xe9\"}"),
            "c.json:1:11: error: byte 0xe9 is not UTF-8\n"
            "  {\"a\": \"caf\\xe9\"}\n"
            "            ^~~~\n"
            "  try: save the file as UTF-8\n");
  for (const char* text : {"\xe9", "[\xe9]", "[1\xe9]", "{\xe9", "{\"a\"\xe9", "1 \xe9"}) {
    EXPECT_NE(ErrorsOf(text), "no error") << text;
  }
}

TEST(ParseJsonErrors, Limits) {
  EXPECT_EQ(ErrorsOf("[[[]]]", {.max_depth = 3}), "no error");
  EXPECT_EQ(ErrorsOf("[[{\"a\": []}]]", {.max_depth = 3}),
            "c.json:1:9: error: nested more than 3 levels deep\n"
            "  [[{\"a\": []}]]\n"
            "          ^\n");
  EXPECT_EQ(ErrorsOf(std::string(10'000'000, '[')).substr(0, 59),
            "c.json:1:101: error: nested more than 100 levels deep\n  ...");
  EXPECT_EQ(ErrorsOf("12345", {.max_bytes = 4}),
            "c.json: error: the text is too large: 5 bytes, at most 4 are read\n");
  EXPECT_EQ(ErrorsOf("[1, 2, 3]", {.max_values = 2}),
            "c.json:1:8: error: more than 2 values\n"
            "  [1, 2, 3]\n"
            "         ^\n");
}

TEST(ParseJsonErrors, LongLineIsCutWithTheCaretUnderItsColumn) {
  const std::string items = "[" + std::string(60'000, ' ') + "1, 2, oops, 3]";
  EXPECT_EQ(ErrorsOf(items),
            "c.json:1:60008: error: 'oops' is not a JSON value\n"
            "  ..." +
                std::string(55, ' ') + "1, 2, oops, 3]\n" + "  " + std::string(64, ' ') +
                "^~~~\n"
                "  try: \"oops\", if a string is meant\n");
}

}  // namespace
}  // namespace trainfit::config
