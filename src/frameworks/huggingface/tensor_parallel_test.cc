// Layers over tensor ranks: who holds what, what a rank computes, and what is refused.
#include "frameworks/huggingface/tensor_parallel.h"

#include <gtest/gtest.h>

#include "frameworks/builder.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;

constexpr std::int64_t kTokens = 4096;

Expected<plan::Plan> Resolve(
    std::int64_t gpus, spec::Parallelism parallelism, const char* framework = "torchtitan",
    spec::Checkpointing checkpointing = spec::Checkpointing::kPerOperator) {
  spec::Recipe recipe;
  recipe.precision = spec::Precision::kBf16Mixed;
  recipe.micro_batch = 1;
  recipe.sequence_length = kTokens;
  recipe.checkpointing = checkpointing;
  recipe.sharding = spec::Sharding::kFsdp2;
  recipe.parallelism = parallelism;
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  return plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts(framework, "").value());
}

spec::Parallelism Tensor(std::int64_t ranks) {
  spec::Parallelism parallelism;
  parallelism.tensor = ranks;
  return parallelism;
}

double Net(const program::Program& program, Phase phase) {
  for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
    if (candidate.phase != phase) continue;
    return static_cast<double>(candidate.segment->summary(Place::kGpu).net.value());
  }
  ADD_FAILURE() << "no such phase";
  return 0;
}

double Peak(const program::Program& program, Phase phase) {
  for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
    if (candidate.phase != phase) continue;
    return static_cast<double>(candidate.segment->summary(Place::kGpu).peak.value());
  }
  return 0;
}

TEST(TensorParallel, WeightsAndStatesAreSpreadOverAllRanks) {
  const program::Program split = BuildProgram(Resolve(8, Tensor(2)).value());
  const program::Program plain = BuildProgram(Resolve(8, Tensor(1)).value());
  EXPECT_EQ(split.ranks.front().count, 8);
  for (const Phase phase : {Phase::kLoad, Phase::kFirstStep}) {
    EXPECT_NEAR(Net(split, phase) / Net(plain, phase), 1, 0.001) << static_cast<int>(phase);
  }
  EXPECT_EQ(Net(split, Phase::kSteadyStep), 0);
}

// Checkpoints of whole blocks are the residual stream alone, which is cut along the sequence.
TEST(TensorParallel, TheResidualStreamIsCutAlongTheSequence) {
  const auto peak = [](std::int64_t tensor) {
    const plan::Plan plan =
        Resolve(2 * tensor, Tensor(tensor), "torchtitan", spec::Checkpointing::kFull).value();
    return Peak(BuildProgram(plan), Phase::kSteadyStep);
  };
  EXPECT_LT(peak(4), 0.6 * peak(2));
  EXPECT_LT(peak(2), 0.6 * peak(1));
}

TEST(TensorParallel, SharesAddUp) {
  const auto model = LlamaStyle();
  const std::int64_t whole = spec::ParameterCount(*model);
  const std::int64_t norms = 65 * 4096;
  const std::int64_t share = spec::ParameterCount(*TensorShare(*model, 4));
  EXPECT_EQ(4 * (share - norms), whole - norms);
}

TEST(TensorParallel, WhatIsNotSplitIsRefused) {
  EXPECT_TRUE(Resolve(8, Tensor(8)).has_value());
  EXPECT_FALSE(Resolve(8, Tensor(3)).has_value());               // heads, cards
  EXPECT_FALSE(Resolve(8, Tensor(2), "torchtune").has_value());  // has no such thing here
  spec::Parallelism pipeline = Tensor(2);
  pipeline.pipeline = 2;
  EXPECT_FALSE(Resolve(8, pipeline).has_value());
  spec::Recipe recipe;
  recipe.parallelism = Tensor(2);
  recipe.sharding = spec::Sharding::kDdp;
  spec::Machine machine;
  machine.gpus_per_node = 8;
  EXPECT_FALSE(plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts("torchtitan", "").value())
                   .has_value());
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
