// Published formulas for the bytes that one layer keeps for backward, per token, as an
// outcome of the recorded operations. The formulas stand here, and nowhere in the product.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "frameworks/huggingface/block.h"
#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using spec::AttentionImplementation;
using spec::Dtype;
using spec::Method;
using spec::Precision;

constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t h = 4096, a = 4096, kv = 1024, nh = 32, i = 14336, r = 16;

struct Row {
  const char* name;
  Method method;
  Precision precision;
  std::int64_t bytes_per_token;
  double lora_dropout = 0;
  std::optional<Dtype> adapters = std::nullopt;
  bool kbit_preparation = false;
  bool liger = false;
  AttentionImplementation attention = AttentionImplementation::kFlash2;
  // Parameters whose low-precision casts autograd keeps besides (2 bytes each).
  std::int64_t cast_parameters = 0;
  const char* target = "all-linear";
};

constexpr std::int64_t kLinearParameters = 218'103'808;
constexpr std::int64_t kAdapterParameters = 1'310'720;

const Row kRows[] = {
    {"A1", Method::kFull, Precision::kBf16Pure, 16 * h + 8 + 4 * a + 4 * kv + 4 * nh + 8 * i},
    {"A2",
     Method::kFull,
     Precision::kBf16Pure,
     16 * h + 8 + 8 * a + 8 * i + 6 * nh* kTokens,
     0,
     {},
     false,
     false,
     AttentionImplementation::kEager},
    {"A3",
     Method::kFull,
     Precision::kBf16Mixed,
     26 * h + 8 + 4 * a + 4 * kv + 4 * nh + 8 * i,
     0,
     {},
     false,
     false,
     AttentionImplementation::kFlash2,
     kLinearParameters},
    {"A4",
     Method::kFull,
     Precision::kFp32,
     24 * h + 8 + 8 * a + 8 * kv + 4 * nh + 16 * i,
     0,
     {},
     false,
     false,
     AttentionImplementation::kSdpa},
    {"A5", Method::kLora, Precision::kBf16Pure, 8 * h + 8 + 4 * a + 4 * kv + 4 * nh + 6 * i, 0,
     Dtype::kBf16, false, false, AttentionImplementation::kFlash2, 0, "lm_head"},
    {"A6", Method::kLora, Precision::kBf16Pure,
     12 * h + 8 + 4 * a + 4 * kv + 4 * nh + 8 * i + 14 * r, 0, Dtype::kBf16},
    {"A7", Method::kLora, Precision::kBf16Pure,
     23 * h + 8 + 7 * a + 4 * kv + 4 * nh + 9 * i + 14 * r, 0.05, Dtype::kBf16},
    {"A8", Method::kLora, Precision::kBf16Mixed,
     18 * h + 8 + 6 * a + 4 * kv + 4 * nh + 8 * i + 14 * r, 0, Dtype::kFp32, false, false,
     AttentionImplementation::kFlash2, kAdapterParameters},
    {"A9", Method::kLora, Precision::kBf16Mixed,
     23 * h + 8 + 7 * a + 4 * kv + 4 * nh + 9 * i + 14 * r, 0.05, Dtype::kFp32, false, false,
     AttentionImplementation::kFlash2, kAdapterParameters},
    {"A10", Method::kLora, Precision::kBf16Pure,
     28 * h + 8 + 8 * a + 4 * kv + 4 * nh + 10 * i + 28 * r, 0, Dtype::kFp32},
    {"A11", Method::kLora, Precision::kBf16Pure,
     33 * h + 8 + 9 * a + 4 * kv + 4 * nh + 11 * i + 28 * r, 0.05, Dtype::kFp32},
    {"A12", Method::kQlora, Precision::kBf16Mixed,
     12 * h + 8 + 4 * a + 4 * kv + 4 * nh + 8 * i + 14 * r, 0, Dtype::kBf16},
    {"A13", Method::kQlora, Precision::kBf16Mixed,
     18 * h + 8 + 4 * a + 4 * kv + 4 * nh + 14 * i + 14 * r, 0, Dtype::kFp32, true, false,
     AttentionImplementation::kFlash2, kAdapterParameters},
    {"A14",
     Method::kFull,
     Precision::kBf16Pure,
     8 * h + 8 + 4 * a + 4 * kv + 4 * nh + 6 * i,
     0,
     {},
     false,
     true},
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class SavedTensors : public testing::TestWithParam<Row> {};

plan::Plan PlanFor(const Row& row) {
  spec::Recipe recipe;
  recipe.method = row.method;
  recipe.precision = row.precision;
  recipe.attention = row.attention;
  recipe.micro_batch = 1;
  recipe.sequence_length = kTokens;
  recipe.checkpointing = spec::Checkpointing::kNone;
  recipe.kbit_preparation = row.kbit_preparation;
  recipe.liger_kernels = row.liger;
  recipe.adapter_dtype = row.adapters;
  if (row.method != Method::kFull) {
    recipe.lora = spec::LoraRecipe{.rank = r, .dropout = row.lora_dropout, .targets = {row.target}};
    recipe.load_dtype = Dtype::kBf16;
  }
  const auto facts = FindFacts("transformers", "");
  return plan::ResolvePlan(recipe, LlamaStyle(), spec::Machine{}, facts.value()).value();
}

TEST_P(SavedTensors, EqualTheTable) {
  const plan::Plan plan = PlanFor(GetParam());
  program::SegmentStore store;
  const BlockSegments block =
      RecordBlock(plan, plan.model->Text().kinds[0], store, true, /*has_gradients=*/false);
  const Bytes saved = block.forward->summary(program::Place::kGpu).net;
  EXPECT_EQ(saved.value(), GetParam().bytes_per_token * kTokens + 2 * GetParam().cast_parameters);
}

// What forward saved is gone after backward; what is left are the gradients.
TEST_P(SavedTensors, BackwardLeavesOnlyGradients) {
  const plan::Plan plan = PlanFor(GetParam());
  program::SegmentStore store;
  const BlockSegments block =
      RecordBlock(plan, plan.model->Text().kinds[0], store, true, /*has_gradients=*/false);
  const auto net = [](const program::Segment* segment) {
    return segment->summary(program::Place::kGpu).net;
  };
  std::int64_t gradients = 0;
  const Frame frame(plan, plan.model->Text().kinds[0].tensors, 0, 0, false);
  for (std::int32_t t = 0; t < frame.size(); ++t) {
    if (frame.held(t).trainable) {
      gradients += frame.tensor(t).Elements() * spec::ElementBytes(frame.held(t).dtype);
    }
    if (frame.held(t).lora_rank > 0) {
      gradients += r * (frame.tensor(t).shape[0] + frame.tensor(t).shape[1]) *
                   spec::ElementBytes(plan.adapter_dtype);
    }
  }
  // The block frees its input and leaves an output of the same size.
  const Bytes total = net(block.forward) + net(block.exit_autocast) + net(block.backward);
  EXPECT_EQ(total.value(), gradients);
}

INSTANTIATE_TEST_SUITE_P(Table, SavedTensors, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

// bitsandbytes before 0.43.2: the inputs of the seven products. Attention's output is kept anyway,
// and one input serves q, k and v, another gate and up.
TEST(FourBit, OlderVersionsKeepInputs) {
  const auto saved = [](const char* versions) {
    spec::Recipe recipe;
    recipe.method = Method::kQlora;
    recipe.precision = Precision::kBf16Pure;
    recipe.attention = AttentionImplementation::kFlash2;
    recipe.micro_batch = 1;
    recipe.sequence_length = kTokens;
    recipe.checkpointing = spec::Checkpointing::kNone;
    recipe.kbit_preparation = false;
    recipe.adapter_dtype = Dtype::kBf16;
    recipe.lora = spec::LoraRecipe{.rank = r, .dropout = 0.1, .targets = {"q_proj"}};
    const plan::Plan plan = plan::ResolvePlan(recipe, LlamaStyle(), spec::Machine{},
                                              FindFacts("transformers", versions).value())
                                .value();
    program::SegmentStore store;
    return RecordBlock(plan, plan.model->Text().kinds[0], store, true, false)
        .forward->summary(program::Place::kGpu)
        .net.value();
  };
  const std::int64_t more = saved("bitsandbytes==0.43.1") - saved("bitsandbytes==0.43.2");
  EXPECT_EQ(more, kTokens * 2 * (h + h + i));
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
