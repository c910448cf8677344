#include "readers/layer_plan.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainfit::readers {
namespace {

using spec::MlpKind;
using spec::Part;
using spec::TensorSpec;
using Shape = std::vector<std::int64_t>;

constexpr NamedPart kParts[] = {
    {Part::kQuery, "q"},        {Part::kQueryNorm, "q_norm"},
    {Part::kKey, "k"},          {Part::kOutput, "o"},
    {Part::kGate, "gate"},      {Part::kUp, "up"},
    {Part::kRouter, "router"},  {Part::kExpertDown, "e.{e}.down"},
    {Part::kInputNorm, "norm"},
};

LayerPlan SmallPlan() {
  LayerPlan plan;
  plan.parts = kParts;
  plan.hidden = 8;
  plan.kind.attention = {.heads = 4, .kv_heads = 2, .head_dim = 3, .value_head_dim = 3};
  plan.kind.mlp = {.kind = MlpKind::kGated, .intermediate = 10};
  return plan;
}

std::vector<std::string> Names(const spec::LayerKind& layer) {
  std::vector<std::string> names;
  names.reserve(layer.tensors.size());
  for (const TensorSpec& tensor : layer.tensors) names.push_back(tensor.name);
  return names;
}

TEST(LayerPlanTest, PartsThatALayerDoesNotHaveAreSkipped) {
  const spec::LayerKind layer = EmitLayer(SmallPlan());
  EXPECT_EQ(Names(layer), (std::vector<std::string>{"q.weight", "k.weight", "o.weight",
                                                    "gate.weight", "up.weight", "norm.weight"}));
  EXPECT_EQ(layer.tensors[0].shape, (Shape{12, 8}));
  EXPECT_EQ(layer.tensors[1].shape, (Shape{6, 8}));
  EXPECT_EQ(layer.tensors[2].shape, (Shape{8, 12}));
}

TEST(LayerPlanTest, BiasesFollowTheirWeights) {
  LayerPlan plan = SmallPlan();
  plan.SetAttentionBias(true, false);
  plan.kind.attention.qk_norm = true;
  const spec::LayerKind layer = EmitLayer(plan);
  EXPECT_EQ(Names(layer),
            (std::vector<std::string>{"q.weight", "q.bias", "q_norm.weight", "k.weight", "k.bias",
                                      "o.weight", "gate.weight", "up.weight", "norm.weight"}));
  EXPECT_TRUE(layer.tensors[1].is_bias);
  EXPECT_FALSE(layer.tensors[1].is_linear);
  EXPECT_EQ(layer.tensors[2].shape, (Shape{3}));
}

TEST(LayerPlanTest, ExpertsAreCopiesOrOneTensor) {
  LayerPlan plan = SmallPlan();
  plan.kind.mlp = {.kind = MlpKind::kMoe, .intermediate = 5, .experts = 6, .experts_per_token = 2};
  const TensorSpec copies = EmitLayer(plan).tensors[4];
  EXPECT_EQ(copies.name, "e.{e}.down.weight");
  EXPECT_EQ(copies.shape, (Shape{8, 5}));
  EXPECT_EQ(copies.copies, 6);
  EXPECT_TRUE(copies.is_linear);
  plan.fused_experts = true;
  plan.expert_in_first = true;
  const TensorSpec fused = EmitLayer(plan).tensors[4];
  EXPECT_EQ(fused.shape, (Shape{6, 5, 8}));
  EXPECT_EQ(fused.copies, 1);
  EXPECT_FALSE(fused.is_linear);
  EXPECT_EQ(fused.Elements(), copies.Elements());
}

TEST(LayerPlanTest, Conv1dStoresTheInputFirst) {
  LayerPlan plan = SmallPlan();
  plan.conv1d = true;
  const spec::LayerKind layer = EmitLayer(plan);
  EXPECT_EQ(layer.tensors[0].shape, (Shape{8, 12}));
  EXPECT_TRUE(layer.tensors[0].is_linear);
  EXPECT_EQ(layer.tensors[1].name, "q.bias");
  EXPECT_EQ(layer.tensors[1].shape, (Shape{12}));
}

TEST(LayerPlanTest, ProductsStayAtTheLargestNumber) {
  EXPECT_EQ(Product(3, 4), 12);
  EXPECT_EQ(Product(std::int64_t{1} << 40, std::int64_t{1} << 40),
            std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace trainfit::readers
