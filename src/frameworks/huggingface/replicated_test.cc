// One GPU: updates inside the backward pass, and optimizer states that are paged.
#include <gtest/gtest.h>

#include "frameworks/builder.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;

constexpr double kParameters = 8'030'261'248;  // of Llama-3-8B

spec::Recipe RecipeOf(spec::Optimizer optimizer, bool in_backward) {
  spec::Recipe recipe;
  recipe.method = spec::Method::kFull;
  recipe.precision = spec::Precision::kBf16Pure;
  recipe.micro_batch = 1;
  recipe.sequence_length = 16;
  recipe.checkpointing = spec::Checkpointing::kFull;
  recipe.optimizer = optimizer;
  recipe.optimizer_in_backward = in_backward;
  return recipe;
}

program::Program Build(const spec::Recipe& recipe) {
  return BuildProgram(
      plan::ResolvePlan(recipe, LlamaStyle(), spec::Machine{}, FindFacts("torchtune", "").value())
          .value());
}

const program::Segment* SegmentOf(const program::Program& program, Phase phase) {
  for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
    if (candidate.phase == phase) return candidate.segment;
  }
  return nullptr;
}

// The gradients of all weights never exist at once: those of the head, of one layer, or of the
// embedding do.
TEST(OptimizerInBackward, GradientsLiveForOneLayer) {
  const auto peak = [](bool in_backward) {
    const program::Program program = Build(RecipeOf(spec::Optimizer::kSgd, in_backward));
    const program::Segment* step = SegmentOf(program, Phase::kSteadyStep);
    EXPECT_EQ(step->summary(Place::kGpu).net.value(), 0);
    return static_cast<double>(step->summary(Place::kGpu).peak.value());
  };
  EXPECT_GT(peak(false), 2 * kParameters);
  EXPECT_LT(peak(true), 2 * 4 * 525'336'576.0);
}

TEST(OptimizerInBackward, LeavesNothingToAddUp) {
  spec::Recipe recipe = RecipeOf(spec::Optimizer::kAdamW, true);
  const auto resolves = [&](std::int64_t gpus) {
    spec::Machine machine;
    machine.gpus_per_node = gpus;
    return plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts("torchtune", "").value())
        .has_value();
  };
  EXPECT_TRUE(resolves(1));
  EXPECT_FALSE(resolves(2));
  recipe.gradient_accumulation = 2;
  EXPECT_FALSE(resolves(1));
}

TEST(PagedOptimizer, StatesAreManagedMemory) {
  const program::Program program = Build(RecipeOf(spec::Optimizer::kPagedAdamW, false));
  const program::Segment* first = SegmentOf(program, Phase::kFirstStep);
  // Norms are too small to be paged.
  EXPECT_NEAR(static_cast<double>(first->summary(Place::kHost).net.value()) / kParameters, 8,
              0.001);
  EXPECT_NEAR(static_cast<double>(first->summary(Place::kGpu).net.value()), 2 * 4 * 65 * 4096, 1);
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
