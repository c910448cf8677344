// Layers with experts and with latent attention: what they keep, and that they keep nothing else.
#include <gtest/gtest.h>

#include "frameworks/builder.h"
#include "frameworks/megatron/example_models.h"
#include "frameworks/megatron/layer.h"
#include "frameworks/megatron/parameters.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Place;

struct MoeShape {
  std::int64_t experts = 8;
  std::int64_t experts_per_token = 2;
  std::int64_t intermediate = 512;
  std::int64_t shared = 0;
  bool is_latent = false;
};

std::shared_ptr<const spec::ModelSpec> Moe(const MoeShape& shape) {
  auto model = std::make_shared<spec::ModelSpec>(*Gpt());
  model->stacks.back().dropout = 0;
  spec::LayerKind& kind = model->stacks.back().kinds.front();
  kind.mlp.kind = spec::MlpKind::kMoe;
  kind.mlp.experts = shape.experts;
  kind.mlp.experts_per_token = shape.experts_per_token;
  kind.mlp.intermediate = shape.intermediate;
  kind.mlp.shared_intermediate = shape.shared;
  if (!shape.is_latent) return model;
  spec::Attention& attention = kind.attention;
  attention.kind = spec::AttentionKind::kLatent;
  attention.head_dim = 192;
  attention.rope_head_dim = 64;
  attention.value_head_dim = 128;
  attention.query_rank = 384;
  attention.kv_rank = 256;
  attention.rotary_dim = 64;
  return model;
}

plan::Plan Resolve(const MoeShape& shape, const spec::Parallelism& parallelism, std::int64_t gpus,
                   std::vector<spec::Recompute> recompute = {}) {
  spec::Recipe recipe;
  recipe.attention = spec::AttentionImplementation::kFlash2;
  recipe.precision = spec::Precision::kBf16Mixed;
  recipe.micro_batch = 1;
  recipe.sequence_length = 1024;
  recipe.parallelism = parallelism;
  if (!recompute.empty()) recipe.checkpointing = spec::Checkpointing::kSelective;
  recipe.recompute = std::move(recompute);
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  auto plan = plan::ResolvePlan(recipe, Moe(shape), machine, FindFacts("megatron", "").value());
  if (!plan.has_value()) ADD_FAILURE() << plan.error().front().message;
  return plan.value();
}

std::int64_t Net(const program::Segment& segment) {
  return segment.summary(Place::kGpu).net.value();
}

std::int64_t Saved(const plan::Plan& plan) {
  program::SegmentStore store;
  return Net(*RecordLayer(plan, plan.model->Text().kinds[0], false, store).forward);
}

// Of each row that goes to an expert: both halves of the first product (4 i) and what the second
// reads (2 i).
TEST(Experts, WidthOfAnExpert) {
  const std::int64_t narrow = Saved(Resolve({.intermediate = 512}, {}, 1));
  const std::int64_t wide = Saved(Resolve({.intermediate = 1024}, {}, 1));
  EXPECT_EQ(wide - narrow, 6 * 512 * 2 * 1024);
}

TEST(Experts, ActivationIsMadeAgain) {
  const MoeShape shape{.intermediate = 512};
  const std::int64_t kept = Saved(Resolve(shape, {}, 1));
  const std::int64_t again = Saved(Resolve(shape, {}, 1, {spec::Recompute::kMoeActivation}));
  EXPECT_EQ(kept - again, 2 * 512 * 2 * 1024);
}

// The norm before the experts keeps its input, no longer its output.
TEST(Experts, NormIsMadeAgain) {
  const MoeShape shape{.intermediate = 512};
  const std::int64_t kept = Saved(Resolve(shape, {}, 1));
  const std::int64_t again = Saved(Resolve(shape, {}, 1, {spec::Recompute::kLayerNorm}));
  EXPECT_EQ(kept - again, 2 * 1024 * 1024);
}

TEST(Experts, BackwardLeavesNothing) {
  const spec::Parallelism splits[] = {
      {},
      {.expert = 4, .expert_tensor = 1},
      {.tensor = 2, .expert = 2, .expert_tensor = 2, .sequence_parallel = true},
      {.tensor = 4, .expert = 8, .expert_tensor = 1, .sequence_parallel = true}};
  for (const bool is_latent : {false, true}) {
    for (const std::int64_t shared : {0, 256}) {
      for (const spec::Parallelism& split : splits) {
        const MoeShape shape{.shared = shared, .is_latent = is_latent};
        const plan::Plan plan = Resolve(shape, split, 8);
        program::SegmentStore store;
        const Piece piece = RecordLayer(plan, plan.model->Text().kinds[0], false, store);
        EXPECT_EQ(Net(*piece.forward) + Net(*piece.backward), 0);
      }
    }
  }
}

// Experts are spread over expert ranks; their optimizer states over what is left of the ranks.
TEST(Experts, AreSpread) {
  const plan::Plan plan = Resolve({}, {.expert = 4, .expert_tensor = 1}, 8);
  EXPECT_EQ(plan.parallel.ExpertData(), 2);
  std::int64_t expert_elements = 0;
  for (const Parameter& p : LayerParameters(plan, plan.model->Text().kinds[0])) {
    if (p.is_expert) expert_elements += p.Elements();
  }
  EXPECT_EQ(expert_elements, 2 * 3 * 512 * 1024);
}

}  // namespace
}  // namespace trainfit::frameworks::megatron
