#include "config/shell_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trainfit::config {
namespace {

std::vector<std::vector<std::string>> Words(const std::string& text) {
  std::vector<std::vector<std::string>> words;
  const auto commands = ParseShellWords("run.sh", text);
  EXPECT_TRUE(commands.has_value());
  if (!commands.has_value()) return words;
  for (const auto& command : *commands) {
    words.emplace_back();
    for (const Node& word : command) words.back().push_back(word.text);
  }
  return words;
}

using Commands = std::vector<std::vector<std::string>>;

TEST(ShellWords, QuotesContinuationsAndComments) {
  EXPECT_EQ(Words("a 'b c' \"d \\\" e\" f\\ g \\\n  h # not this\ni"),
            (Commands{{"a", "b c", "d \" e", "f g", "h"}, {"i"}}));
}

TEST(ShellWords, AssignmentsAreFollowed) {
  EXPECT_EQ(Words("N=8\nexport M=\"x y\"\nrun $N ${M} ${K:-4} $UNKNOWN"),
            (Commands{{"run", "8", "x y", "4", "$UNKNOWN"}}));
}

TEST(ShellWords, ArraysAreFollowed) {
  EXPECT_EQ(
      Words("A=(--x 1\n  # why\n  --y 'a b'\n)\nA+=(--z)\nrun ${A[@]} \"${A[@]}\" end"),
      (Commands{{"run", "--x", "1", "--y", "a b", "--z", "--x", "1", "--y", "a b", "--z", "end"}}));
}

TEST(ShellWords, OperatorsSeparate) {
  EXPECT_EQ(Words("cd x && run --a; two | three"),
            (Commands{{"cd", "x"}, {"run", "--a"}, {"two"}, {"three"}}));
}

TEST(ShellWords, PlacesAreThoseOfTheText) {
  const auto commands = ParseShellWords("run.sh", "a \\\n  'bb'");
  ASSERT_TRUE(commands.has_value());
  const SourceSpan span = commands->at(0).at(1).Span();
  EXPECT_EQ(span.line, 2);
  EXPECT_EQ(span.column, 3);
}

TEST(ShellWords, AnOpenQuoteIsAnError) {
  const auto commands = ParseShellWords("run.sh", "a\nb \"c");
  ASSERT_FALSE(commands.has_value());
  EXPECT_EQ(commands.error().at(0).span.line, 2);
}

}  // namespace
}  // namespace trainfit::config
