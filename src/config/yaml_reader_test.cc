#include "config/yaml_reader.h"

#include <gtest/gtest.h>

namespace trainfit::config {
namespace {

std::string ErrorsOf(const std::string& text, const ReadLimits& limits = {}) {
  const Expected<Node> node = ParseYaml("c.yaml", text, limits);
  if (node.has_value()) return "no error";
  std::string rendered;
  for (const Diagnostic& problem : node.error()) rendered += RenderText(problem);
  return rendered;
}

Node Parsed(const std::string& text) {
  Expected<Node> node = ParseYaml("c.yaml", text);
  EXPECT_TRUE(node.has_value()) << ErrorsOf(text);
  return node.has_value() ? *std::move(node) : Node();
}

std::string Covered(const Node& node) {
  return node.document->text.substr(node.begin, node.end - node.begin);
}

// The tree on one line, to compare at a glance: {a: 1, b: ["x"]}.
std::string Shown(const Node& node) {
  std::string text;
  switch (node.kind) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kBool:
      return node.boolean ? "true" : "false";
    case NodeKind::kInt:
    case NodeKind::kDouble:
      return node.text;
    case NodeKind::kString:
      return '"' + node.text + '"';
    case NodeKind::kArray:
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + Shown(item);
      return "[" + text + "]";
    case NodeKind::kObject:
      for (const Member& member : node.members) {
        text += (text.empty() ? "" : ", ") + member.key + ": " + Shown(member.value);
      }
      return "{" + text + "}";
  }
  return "";
}

TEST(ParseYaml, EveryNodeKnowsItsPlace) {
  const Node root = Parsed(
      "base_model: Qwen/Qwen3-8B   # comment\n"
      "datasets:\n"
      "  - path: \"a b\"\n"
      "    type: 'it''s'\n"
      "lora: {r: 16, on: yes}\n"
      "list: [1, 2 ]\n"
      "tagged: !!str 12\n"
      "named: &n text\n"
      "left_out:\n"
      "empty: ~\n");
  EXPECT_EQ(Covered(*root.Find("base_model")), "Qwen/Qwen3-8B");
  EXPECT_EQ(root.Find("base_model")->Span(),
            (SourceSpan{"c.yaml", 1, 13, 13, "base_model: Qwen/Qwen3-8B   # comment", 0}));
  const Node& dataset = root.Find("datasets")->items[0];
  EXPECT_EQ(Covered(dataset), "path: \"a b\"\n    type: 'it''s'");
  EXPECT_EQ(Covered(*dataset.Find("path")), "\"a b\"");
  EXPECT_EQ(Covered(*dataset.Find("type")), "'it''s'");
  EXPECT_EQ(dataset.Find("type")->text, "it's");
  EXPECT_EQ(Covered(*root.Find("lora")), "{r: 16, on: yes}");
  EXPECT_EQ(Covered(*root.Find("lora")->Find("on")), "yes");
  EXPECT_EQ(Covered(*root.Find("list")), "[1, 2 ]");
  EXPECT_EQ(Covered(*root.Find("tagged")), "12");
  EXPECT_EQ(Covered(*root.Find("named")), "text");
  EXPECT_EQ(root.Find("left_out")->Span().line, 9);
  EXPECT_EQ(Covered(*root.Find("empty")), "~");
  const Member& lora = root.members[2];
  EXPECT_EQ(root.document->text.substr(lora.key_begin, lora.key_end - lora.key_begin), "lora");
}

TEST(ParseYaml, ScalarsAsInPyYaml) {
  EXPECT_EQ(Shown(Parsed("[1e-4, 1.0e-4, yes, 'yes', 010, ~, , 2024-01-01, \"\\u00fc\"]")),
            "[\"1e-4\", 1.0e-4, true, \"yes\", 010, null, null, \"2024-01-01\", \"\u00fc\"]");
  EXPECT_EQ(Parsed("[010]").items[0].integer, 8);
  EXPECT_EQ(Shown(Parsed("a: |\n  one\n  two\nb: >-\n  one\n  two\n")),
            "{a: \"one\ntwo\n\", b: \"one two\"}");
  EXPECT_EQ(Shown(Parsed("a: one\n  two\n")), "{a: \"one two\"}");
}

TEST(ParseYaml, KeysAreText) {
  EXPECT_EQ(Shown(Parsed("on: 1\n2: x\n\"q r\": y\n0.5: z\n")),
            "{on: 1, 2: \"x\", q r: \"y\", 0.5: \"z\"}");
}

TEST(ParseYaml, EmptyTextsAreNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "---\n...\n"}) {
    EXPECT_EQ(Parsed(text).kind, NodeKind::kNull) << text;
  }
}

TEST(ParseYaml, TakesMarksCarriageReturnsAndJson) {
  EXPECT_EQ(Shown(Parsed("\xEF\xBB\xBF"
                         "a: 1\r\nb:\r\n  - x\r\n")),
            "{a: 1, b: [\"x\"]}");
  EXPECT_EQ(Parsed("\xEF\xBB\xBF"
                   "a: 1")
                .members[0]
                .value.Span()
                .column,
            4);
  EXPECT_EQ(Parsed("a: 1\r\nb: x\r\n").Find("b")->Span(),
            (SourceSpan{"c.yaml", 2, 4, 1, "b: x", 0}));
  EXPECT_EQ(Shown(Parsed("{\"a\": [1, true, null]}")), "{a: [1, true, null]}");
  EXPECT_EQ(Shown(Parsed("%YAML 1.1\n---\na: 1\n...\n")), "{a: 1}");
}

TEST(ParseYaml, AliasesAreCopiesOfWhereTheValueIsWritten) {
  const Node root = Parsed("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n");
  EXPECT_EQ(Shown(root), "{a: {k: [1]}, b: {k: [1]}, c: [{k: [1]}, {k: [1]}]}");
  EXPECT_EQ(root.Find("b")->Span().line, 1);
}

TEST(ParseYaml, MergeKeysAsInPyYaml) {
  EXPECT_EQ(Shown(Parsed("a: &a {x: 1, y: 2}\nb:\n  y: 3\n  <<: *a\n  z: 4\n")),
            "{a: {x: 1, y: 2}, b: {x: 1, y: 3, z: 4}}");
  EXPECT_EQ(Shown(Parsed("- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n")),
            "[{x: 1}, {x: 2, y: 2}, {x: 1, y: 2}]");
  EXPECT_EQ(Shown(Parsed("<<: {x: 1}\n")), "{x: 1}");
  EXPECT_EQ(Shown(Parsed("\"<<\": {x: 1}\n")), "{<<: {x: 1}}");  // quoted: a key like any other
}

TEST(ParseYamlErrors, DuplicateKeys) {
  EXPECT_EQ(ErrorsOf("lr: 1\nopt:\n  a: 1\n  a: 2\nlr: 2\n"),
            "c.yaml:4:3: error: the key \"a\" appears twice\n"
            "    a: 2\n"
            "    ^\n"
            "  note: first at line 3, column 3\n"
            "  try: remove one of them\n"
            "c.yaml:5:1: error: the key \"lr\" appears twice\n"
            "  lr: 2\n"
            "  ^~\n"
            "  note: first at line 1, column 1\n"
            "  try: remove one of them\n");
}

TEST(ParseYamlErrors, Keys) {
  EXPECT_EQ(ErrorsOf("a: {{ name }}\n"),
            "c.yaml:1:5: error: a key cannot be an object\n"
            "  a: {{ name }}\n"
            "      ^\n"
            "  try: quotes, if text is meant: \"{{name}}\"\n");
  EXPECT_EQ(ErrorsOf("? [1]\n: 2\n"),
            "c.yaml:1:3: error: a key cannot be an array\n"
            "  ? [1]\n"
            "    ^\n"
            "  try: quotes, if text is meant: \"[name]\"\n");
  EXPECT_EQ(ErrorsOf("null: 1\n"),
            "c.yaml:1:1: error: a key cannot be null\n"
            "  null: 1\n"
            "  ^\n"
            "  try: quotes, if the word is meant\n");
  EXPECT_EQ(ErrorsOf("- &a x\n- *a : 1\n"),
            "c.yaml:2:3: error: an alias cannot be a key\n"
            "  - *a : 1\n"
            "    ^~\n"
            "  try: the key itself\n");
}

TEST(ParseYamlErrors, Syntax) {
  EXPECT_EQ(ErrorsOf("a: b: c\n"),
            "c.yaml:1:5: error: a ':' where no key can stand\n"
            "  a: b: c\n"
            "      ^\n"
            "  try: quotes around a value that contains ': ', or this line indented like its "
            "neighbours\n");
  EXPECT_EQ(ErrorsOf("a:\n  b: 1\n c: 2\n"),
            "c.yaml:3:2: error: this line fits no mapping above\n"
            "   c: 2\n"
            "   ^\n"
            "  try: the same indentation for all keys of a mapping, and ': ' behind each\n");
  EXPECT_EQ(ErrorsOf("a:\n\tb: 1\n"),
            "c.yaml:2:1: error: a tab cannot indent\n"
            "    b: 1\n"
            "  ^~\n"
            "  try: spaces\n");
  EXPECT_EQ(ErrorsOf("a: [1, 2\n"),
            "c.yaml:1:9: error: a '[' is not closed\n"
            "  a: [1, 2\n"
            "          ^\n");
  EXPECT_EQ(ErrorsOf("a: \"x\nb: 1\n"),
            "c.yaml:1:4: error: the quote is not closed\n"
            "  a: \"x\n"
            "     ^\n");
  EXPECT_EQ(ErrorsOf("a: @b\n"),
            "c.yaml:1:4: error: a value cannot begin with this character\n"
            "  a: @b\n"
            "     ^\n"
            "  try: quotes around the value\n");
  EXPECT_EQ(ErrorsOf("a: *b\n"),
            "c.yaml:1:4: error: the alias names no anchor above\n"
            "  a: *b\n"
            "     ^\n");
}

TEST(ParseYamlErrors, TagsAndDocuments) {
  EXPECT_EQ(ErrorsOf("a: !!python/object:os.system x\n"),
            "c.yaml:1:4: error: the tag \"!!python/object:os.system\" is not read\n"
            "  a: !!python/object:os.system x\n"
            "     ^~~~~~~~~~~~~~~~~~~~~~~~~\n"
            "  try: the value without a tag\n");
  EXPECT_EQ(ErrorsOf("a: !!set {b}\n"),
            "c.yaml:1:4: error: the tag \"!!set\" is not read\n"
            "  a: !!set {b}\n"
            "     ^~~~~\n"
            "  try: the value without a tag\n");
  EXPECT_EQ(ErrorsOf("a: !!int fast\n"),
            "c.yaml:1:10: error: \"fast\" is not of the type !!int\n"
            "  a: !!int fast\n"
            "           ^~~~\n");
  EXPECT_EQ(ErrorsOf("a: 1\n---\nb: 2\n"),
            "c.yaml:2:1: error: a second document begins here; one is read\n"
            "  ---\n"
            "  ^~~\n"
            "  try: a file of its own for each\n");
}

TEST(ParseYamlErrors, Merges) {
  EXPECT_EQ(ErrorsOf("a:\n  <<: 1\n"),
            "c.yaml:2:3: error: \"<<\" takes a mapping or a list of mappings, found a number\n"
            "    <<: 1\n"
            "    ^~\n");
  EXPECT_EQ(ErrorsOf("- &a {x: 1}\n- <<: *a\n  <<: *a\n"),
            "c.yaml:3:3: error: the key \"<<\" appears twice\n"
            "    <<: *a\n"
            "    ^~\n"
            "  try: <<: [*first, *second]\n");
  EXPECT_EQ(ErrorsOf("a: &a\n  <<: *a\n"),
            "c.yaml:2:7: error: the alias stands inside the value that it names\n"
            "    <<: *a\n"
            "        ^~\n");
}

TEST(ParseYamlErrors, Bytes) {
  EXPECT_EQ(ErrorsOf("a: caf\xe9\n"),
            "c.yaml:1:7: error: byte 0xe9 is not UTF-8\n"
            "  a: caf\\xe9\n"
            "        ^~~~\n"
            "  try: save the file as UTF-8\n");
  EXPECT_EQ(ErrorsOf("a: \x1b[31m\n"),
            "c.yaml:1:4: error: a control character (0x1b)\n"
            "  a: \\x1b[31m\n"
            "     ^~~~\n"
            "  try: an escape in double quotes\n");
  EXPECT_EQ(ErrorsOf("<!DOCTYPE html>\n"),
            "c.yaml:1:1: error: this is a web page (HTML), not YAML\n"
            "  <!DOCTYPE html>\n"
            "  ^\n"
            "  try: download the raw file instead of the page that shows it\n");
}

// Each level names the one before nine times: 9^9 values from a few lines.
std::string Bomb() {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " [" + below;
    for (int j = 1; j < 9; ++j) text += ", " + below;
    text += "]\n";
  }
  return text;
}

TEST(ParseYamlErrors, AliasesThatExpandBeyondTheLimits) {
  EXPECT_EQ(ErrorsOf(Bomb(), {.max_values = 100'000}),
            "c.yaml:6:9: error: more than 100000 values, aliases expanded\n"
            "  a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]\n"
            "          ^\n");
  const std::string text = "a: &a " + std::string(1000, 'x') + "\nb: [*a, *a, *a]\n";
  EXPECT_EQ(ErrorsOf(text, {.max_bytes = 2500}),
            "c.yaml:2:9: error: aliases expand to more than 2500 bytes\n"
            "  b: [*a, *a, *a]\n"
            "          ^~\n");
  EXPECT_EQ(ErrorsOf("a: &a [[]]\nb: [[*a]]\n", {.max_depth = 4}),
            "c.yaml:2:6: error: nested more than 4 levels deep, aliases expanded\n"
            "  b: [[*a]]\n"
            "       ^~\n");
}

TEST(ParseYamlErrors, Size) {
  EXPECT_EQ(ErrorsOf(std::string(kMaxYamlBytes + 1, '#')),
            "c.yaml: error: the text is too large: 2097153 bytes, at most 2097152 are read\n");
}

TEST(ParseYamlErrors, TextAfterTheDocument) {
  EXPECT_EQ(ErrorsOf("[1]\nx: 2\n"),
            "c.yaml:2:1: error: text after the end of the document\n"
            "  x: 2\n"
            "  ^\n");
  EXPECT_EQ(ErrorsOf("a: 1\n]\n"),
            "c.yaml:2:1: error: this bracket closes nothing\n"
            "  ]\n"
            "  ^\n");
}

TEST(ParseYamlErrors, Depth) {
  EXPECT_EQ(ErrorsOf("[[[]]]", {.max_depth = 3}), "no error");
  EXPECT_EQ(ErrorsOf("[[[[]]]]", {.max_depth = 3}),
            "c.yaml:1:4: error: nested more than 3 levels deep\n"
            "  [[[[]]]]\n"
            "     ^\n");
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_EQ(ErrorsOf(deep, {.max_depth = 10'000}).substr(0, 38),
            "c.yaml:1:2001: error: nested too deep\n");
  EXPECT_NE(ErrorsOf(std::string(1'000'000, '[')).find("nested too deep"), std::string::npos);
  std::string block;
  for (int i = 0; i < 200; ++i) block += std::string(i, ' ') + "k:\n";
  EXPECT_EQ(ErrorsOf(block).substr(0, 55),
            "c.yaml:101:101: error: nested more than 100 levels deep");
}

}  // namespace
}  // namespace trainfit::config
