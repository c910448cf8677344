#include "frameworks/registry.h"

#include <gtest/gtest.h>

namespace trainfit::frameworks {
namespace {

// A question without a row would end the program, so every dialect answers every question: even a
// Megatron is asked about adapters, when remedies are looked for.
TEST(FindFacts, EveryDialectOfMegatronAnswersEveryQuestion) {
  for (const char* name : {"megatron", "megatron-deepspeed", "megatron-bridge", "nemo"}) {
    const auto facts = FindFacts(name, "");
    ASSERT_TRUE(facts.has_value()) << name;
    for (int i = 0; i <= static_cast<int>(plan::Fact::kShardingsSimulated); ++i) {
      const plan::FactRow& row = facts->Row(static_cast<plan::Fact>(i));
      EXPECT_STRNE(row.source, "") << name << " question " << i;
    }
  }
}

TEST(FindFacts, MegatronWithoutTransformerEngine) {
  const auto facts = FindFacts("megatron", "transformer-engine==0.0.0");
  ASSERT_TRUE(facts.has_value());
  EXPECT_FALSE(facts->Is(plan::Fact::kTransformerEngine));
  EXPECT_TRUE(FindFacts("megatron", "")->Is(plan::Fact::kTransformerEngine));
}

TEST(FindFacts, UnknownNamesSuggest) {
  const auto facts = FindFacts("megatrom", "");
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().front().suggestion, "megatron");
}

}  // namespace
}  // namespace trainfit::frameworks
