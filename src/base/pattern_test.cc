#include "base/pattern.h"

#include <gtest/gtest.h>

namespace trainfit {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  const auto parsed = Pattern::Parse(pattern);
  return parsed.has_value() && parsed->Matches(text);
}

TEST(PatternTest, PythonsFullMatch) {
  EXPECT_TRUE(Matches(".*", ""));
  EXPECT_TRUE(
      Matches(R"(model\.layers\.\d+\.self_attn\.(q|v)_proj)", "model.layers.12.self_attn.v_proj"));
  EXPECT_FALSE(
      Matches(R"(model\.layers\.\d+\.self_attn\.(q|v)_proj)", "model.layers.x.self_attn.v_proj"));
  EXPECT_FALSE(Matches("q_proj", "self_attn.q_proj"));
  EXPECT_TRUE(Matches("(.*\\.)?(q_proj)$", "self_attn.q_proj"));
  EXPECT_TRUE(Matches("^[a-c]+[^0-9]{2,3}?$", "abcxy"));
  EXPECT_FALSE(Matches("^[a-c]+[^0-9]{2,3}$", "abc12"));
  EXPECT_TRUE(Matches("(?:a|b)*c?", "abab"));
  EXPECT_TRUE(Matches(R"((?P<idx>\d+)\.x)", "7.x"));
}

TEST(PatternTest, MistakesAreNamed) {
  for (const char* bad : {"(a", "a)", "[a", "*a", "a{3,2}", "(?=a)", "\\", "[b-a]", R"(\1)"}) {
    EXPECT_FALSE(Pattern::Parse(bad).has_value()) << bad;
  }
  EXPECT_EQ(Pattern::Parse("(a").error().front().message,
            "\"(a\" is no regular expression that is known here: a ( without its )");
}

TEST(PatternTest, NoPatternTakesLong) {
  EXPECT_FALSE(Matches("(a+)+b", std::string(200, 'a')));
  EXPECT_FALSE(Matches("((a*)*)*b", std::string(200, 'a')));
  EXPECT_FALSE(Pattern::Parse(std::string(200, '(')).has_value());
}

}  // namespace
}  // namespace trainfit
