#include "catalog/model_words.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "catalog/catalog.h"

namespace trainfit::catalog {
namespace {

using Words = std::vector<std::string>;

TEST(ModelWordsTest, FamilyAndSizeStayTuningGoes) {
  const ModelWords words = SplitModelName("NousResearch/Llama-2-70b-chat-hf");
  EXPECT_EQ(words.words, (Words{"llama", "2"}));
  EXPECT_EQ(words.billions, std::vector<double>{70});
}

TEST(ModelWordsTest, SizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(SplitModelName("internlm2-1_8b").billions, std::vector<double>{1.8});
  EXPECT_EQ(SplitModelName("bloom-7b1").billions, std::vector<double>{7.1});
  EXPECT_EQ(SplitModelName("opt-350m").billions, std::vector<double>{0.35});
  EXPECT_TRUE(SplitModelName("Qwen3-30B-A3B").words.back() == "a3b");
  EXPECT_TRUE(SplitModelName("Qwen (7B, LoRA)").billions.empty());  // a remark
}

// What GuessModel takes a name for; "" when it guesses nothing.
std::string Guess(const std::string& name) {
  const auto match = Catalog().GuessModel(name);
  if (!match.has_value()) return "";
  EXPECT_FALSE(match->assumptions.empty()) << name;
  return match->record.id;
}

TEST(GuessModelTest, TunedModelsHaveTheShapesOfTheirBase) {
  const std::pair<const char*, const char*> kCases[] = {
      {"cognitivecomputations/dolphin-2.6-mistral-7b", "mistralai/Mistral-7B-v0.1"},
      {"lmsys/vicuna-7b", "huggyllama/llama-7b"},
      {"lmsys/vicuna-13b-v1.5", "meta-llama/Llama-2-13b-hf"},
      {"teknium/OpenHermes-2.5-Mistral-7B", "mistralai/Mistral-7B-v0.1"},
      {"Qwen/Qwen3-30B-A3B-Thinking-2507", "Qwen/Qwen3-30B-A3B"},
      {"someone/qwen2.5-14b-my-tune", "Qwen/Qwen2.5-14B"},
      {"nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "meta-llama/Llama-3.1-70B"},
      {"mistralai/Mixtral-8x7B", "mistralai/Mixtral-8x7B-v0.1"},
      {"bigscience/bloomz-3b", "bigscience/bloom-3b"},
      {"WizardLM/WizardCoder-15B-V1.0", "bigcode/starcoder"},
      {"unsloth/gemma-2-9b-it-bnb-4bit", "google/gemma-2-9b"}};
  for (const auto& [name, id] : kCases) EXPECT_EQ(Guess(name), id) << name;
}

TEST(GuessModelTest, ABareSizeIsAUsualShape) {
  EXPECT_EQ(Guess("70B Llama class"), "meta-llama/Llama-3.1-70B");
  EXPECT_EQ(Guess("6.8B LLaMA-class model"), "huggyllama/llama-7b");
  EXPECT_EQ(Guess("GPT-like 1.35B"), "facebook/opt-1.3b");
  EXPECT_EQ(Guess("4B model"), "Qwen/Qwen3-4B");
  EXPECT_EQ(Guess("7B"), "meta-llama/Llama-2-7b-hf");
}

TEST(GuessModelTest, OtherArchitecturesAndUnknownFamiliesAreNotGuessed) {
  for (const char* name :
       {"someone/novel-7b", "Qwen/Qwen2.5-Omni-7B", "llava-llama-3-8b", "Qwen (size not visible)",
        "LLaMA (LoRA)", "1.5B diffusion/LM class", "LLaMA-7B actor and critic", "qwen2.5-9b", ""}) {
    EXPECT_EQ(Guess(name), "") << name;
  }
}

}  // namespace
}  // namespace trainfit::catalog
