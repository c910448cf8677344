#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace trainfit {
namespace {

using Words = std::vector<std::string>;

TEST(EditDistance, CountsInsertDeleteReplaceAndSwap) {
  EXPECT_EQ(EditDistance("h100", "h100", 5), 0);
  EXPECT_EQ(EditDistance("h10", "h100", 5), 1);
  EXPECT_EQ(EditDistance("h1000", "h100", 5), 1);
  EXPECT_EQ(EditDistance("h200", "h100", 5), 1);
  EXPECT_EQ(EditDistance("h010", "h100", 5), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting", 5), 3);
  EXPECT_EQ(EditDistance("", "abc", 5), 3);
  EXPECT_EQ(EditDistance("", "", 0), 0);
}

TEST(EditDistance, IgnoresCase) { EXPECT_EQ(EditDistance("LLaMA", "llama", 0), 0); }

TEST(EditDistance, StopsAtTheLimit) {
  EXPECT_EQ(EditDistance("kitten", "sitting", 3), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3);
  EXPECT_EQ(EditDistance("abcdefgh", "stuvwxyz", 2), 3);
  EXPECT_EQ(EditDistance(std::string(1000, 'a'), "b", 4), 5);
  // The last letters make good what the first row lacks: a swap spans two rows.
  EXPECT_EQ(EditDistance("ab", "ba", 1), 1);
  EXPECT_EQ(EditDistance("xab", "xba", 1), 1);
}

TEST(NearestWord, FindsWhatWasMeant) {
  const Words flags = {"--model", "--method", "--micro-batch", "--on"};
  EXPECT_EQ(NearestWord("--modle", flags), "--model");
  EXPECT_EQ(NearestWord("--metod", flags), "--method");
  EXPECT_EQ(NearestWord("--micro_batch", flags), "--micro-batch");
  EXPECT_EQ(NearestWord("rtx-409O", Words{"rtx-4080", "rtx-4090"}), "rtx-4090");
}

TEST(NearestWord, LeavesOthersAlone) {
  EXPECT_EQ(NearestWord("--frobnicate", Words{"--model", "--on"}), "");
  EXPECT_EQ(NearestWord("x", Words{"tp", "pp"}), "");
  EXPECT_EQ(NearestWord("", Words{"tp"}), "");
  EXPECT_EQ(NearestWord("tp", Words{}), "");
  EXPECT_EQ(NearestWord(std::string(101, 'a'), Words{std::string(101, 'a')}), "");
  EXPECT_EQ(NearestWord(std::string(99, 'a'), Words{std::string(101, 'a')}), "");
}

TEST(NearestWord, TheEarlierOfEquallyNearWords) {
  EXPECT_EQ(NearestWord("a400", Words{"a100", "a200"}), "a100");
  EXPECT_EQ(NearestWord("a400", Words{"a200", "a100"}), "a200");
}

TEST(NearestWords, ClosestFirstAndNoMoreThanAsked) {
  const Words known = {"adamw_8bitt", "adamw_8bit", "adafactor"};
  EXPECT_EQ(NearestWords("adamw_8bit", known, 5), (Words{"adamw_8bit", "adamw_8bitt"}));
  EXPECT_EQ(NearestWords("adamw_8bit", known, 1), Words{"adamw_8bit"});
  EXPECT_EQ(NearestWords("adamw_8bit", known, 0), Words{});
}

}  // namespace
}  // namespace trainfit
