#include "spec/model.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainfit::spec {
namespace {

TensorSpec Tensor(std::vector<std::int64_t> shape, Part part = Part::kOther,
                  std::int64_t copies = 1) {
  return {.name = "t", .shape = std::move(shape), .part = part, .copies = copies};
}

TEST(ModelTest, ScalarsCountAsOneElement) {
  EXPECT_EQ(Tensor({}).Elements(), 1);
  EXPECT_EQ(Tensor({3, 4}).Elements(), 12);
  EXPECT_EQ(Tensor({3, 4}, Part::kExpertUp, 5).Elements(), 60);
}

TEST(ModelTest, CountsStayAtTheLargestNumberInsteadOfOverflowing) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(Tensor({big, big}).Elements(), std::numeric_limits<std::int64_t>::max());
  ModelSpec model;
  Stack& stack = model.stacks.emplace_back();
  stack.kinds.emplace_back().tensors = {Tensor({big, big})};
  stack.runs.push_back({.kind = 0, .first = 0, .count = 7});
  EXPECT_EQ(ParameterCount(model), std::numeric_limits<std::int64_t>::max());
}

// Two layers of a mixture (4 experts, 1 a token) after one dense layer.
TEST(ModelTest, ActiveParametersLeaveIdleExpertsOut) {
  ModelSpec model;
  Stack& stack = model.stacks.emplace_back();
  stack.before = {Tensor({10, 2}, Part::kTokenEmbedding)};
  stack.kinds.emplace_back().tensors = {Tensor({2, 3}, Part::kUp)};
  LayerKind& sparse = stack.kinds.emplace_back();
  sparse.mlp = {.kind = MlpKind::kMoe, .experts = 4, .experts_per_token = 1};
  sparse.tensors = {Tensor({4, 2}, Part::kRouter), Tensor({2, 3}, Part::kExpertUp, 4),
                    Tensor({4, 3, 2}, Part::kExpertDown)};  // copies, and one fused tensor
  stack.runs = {{.kind = 0, .first = 0, .count = 1}, {.kind = 1, .first = 1, .count = 2}};
  stack.after = {Tensor({2}, Part::kFinalNorm)};
  EXPECT_EQ(stack.Layers(), 3);
  EXPECT_EQ(ParameterCount(model), 20 + 6 + 2 * (8 + 24 + 24) + 2);
  EXPECT_EQ(ActiveParameterCount(model), 20 + 6 + 2 * (8 + 6 + 6) + 2);
}

TEST(ModelTest, EveryPartHasAName) {
  for (int part = 0; part <= static_cast<int>(Part::kOther); ++part) {
    EXPECT_FALSE(Name(static_cast<Part>(part)).empty()) << part;
  }
  EXPECT_EQ(Name(Part::kOther), "other");
  EXPECT_EQ(Name(Part::kMixer), "mixer");
  EXPECT_EQ(Name(Part::kInputNorm), "input norm");
  EXPECT_EQ(Name(Part::kHead), "output head");
}

}  // namespace
}  // namespace trainfit::spec
