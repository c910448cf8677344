#include "catalog/names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace trainfit::catalog {
namespace {

TEST(NamesTest, SpellingsOfOneCardAreEqual) {
  for (const char* name : {"RTX 4090", "rtx-4090", "rtx_4090", "RTX4090", "NVIDIA GeForce RTX 4090",
                           "geforce rtx 4090", "(RTX) 4090"}) {
    EXPECT_EQ(NormalizeName(Kind::kGpu, name), "rtx4090") << name;
  }
}

TEST(NamesTest, AMemorySizeLosesItsUnit) {
  EXPECT_EQ(NormalizeName(Kind::kGpu, "NVIDIA A100-SXM4-80GB"), "a100sxm480");
  EXPECT_EQ(NormalizeName(Kind::kGpu, "A100 80 GB"), "a10080gb");  // "gb" alone is a word
  EXPECT_EQ(NormalizeName(Kind::kGpu, "GH200 144G HBM3e"), "gh200144hbm3e");
  EXPECT_EQ(NormalizeName(Kind::kGpu, "A10G"), "a10g");  // not ten gigabytes
}

TEST(NamesTest, DotsTellModelsApart) {
  EXPECT_NE(NormalizeName(Kind::kModel, "Qwen2.5-7B"), NormalizeName(Kind::kModel, "Qwen2-57B"));
  EXPECT_EQ(NormalizeName(Kind::kModel, "llama-3.1-8b"),
            NormalizeName(Kind::kModel, "Llama 3.1 8B"));
}

TEST(NamesTest, OnlyGpusLoseMakersNames) {
  EXPECT_EQ(NormalizeName(Kind::kModel, "nvidia/Nemotron"), "nvidianemotron");
  EXPECT_EQ(NormalizeName(Kind::kInstance, "gcp-a2-highgpu-8g"), "gcpa2highgpu8g");
}

// tools/check_data looks for names that collide, by the same rule.
TEST(NamesTest, TheCheckOfTheDataDropsTheSameWords) {
  std::ifstream file("tools/check_data");
  const std::string script((std::istreambuf_iterator<char>(file)), {});
  std::smatch list;
  ASSERT_TRUE(std::regex_search(script, list, std::regex(R"(NOISE = \{([^}]*)\})")));
  const std::string words = list[1];
  const std::regex word("\"([a-z]+)\"");
  int count = 0;
  for (std::sregex_iterator at(words.begin(), words.end(), word), end; at != end; ++at, ++count) {
    EXPECT_EQ(NormalizeName(Kind::kGpu, (*at)[1].str() + " x"), "x") << (*at)[1];
  }
  EXPECT_EQ(count, 17);
}

TEST(NamesTest, ANameOfNoiseAloneIsKept) { EXPECT_EQ(NormalizeName(Kind::kGpu, "AMD"), "amd"); }

TEST(NamesTest, OddBytesSeparate) {
  EXPECT_EQ(NormalizeName(Kind::kGpu, "A100\xff\x80\xc3\x97 80"), "a10080");
  EXPECT_EQ(NormalizeName(Kind::kGpu, "--"), "");
  EXPECT_EQ(NormalizeName(Kind::kGpu, ""), "");
}

TEST(NamesTest, ANumberMayBeASize) {
  const std::vector<SizedName> sized = TakeSize("RTX 4090 24GB");
  ASSERT_EQ(sized.size(), 2);
  EXPECT_EQ(sized[0].name, "rtx4090");
  EXPECT_EQ(sized[0].gb, 24);
  EXPECT_EQ(sized[1].name, "rtx24");
  EXPECT_TRUE(TakeSize("A40").empty());
  EXPECT_TRUE(TakeSize("A40 99999999999999999999").empty());
}

}  // namespace
}  // namespace trainfit::catalog
