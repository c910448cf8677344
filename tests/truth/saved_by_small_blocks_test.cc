// Bytes a token that small blocks keep for backward, recorded elsewhere from PyTorch itself, as
// outcomes of the recorded programs: model file in, saved bytes out.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "catalog/catalog.h"
#include "config/json_reader.h"
#include "frameworks/huggingface/block.h"
#include "frameworks/registry.h"
#include "plan/plan.h"
#include "readers/model_config.h"

namespace trainfit {
namespace {

using spec::AttentionImplementation;
using spec::Dtype;
using spec::Method;
using spec::Precision;

// So many that every tensor is a multiple of the allocator's 512 bytes.
constexpr std::int64_t kTokens = 1024;

constexpr const char* kLlama = R"({"model_type": "llama", "hidden_size": 64,
  "intermediate_size": 160, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 4, "vocab_size": 512, "max_position_embeddings": 4096})";
constexpr const char* kMixtral = R"({"model_type": "mixtral", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 512,
  "max_position_embeddings": 4096})";
constexpr const char* kGpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 4,
  "n_positions": 4096, "vocab_size": 512, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0,
  "activation_function": "gelu_new"})";

spec::Recipe RecipeOf(Method method, Precision precision) {
  spec::Recipe recipe;
  recipe.method = method;
  recipe.precision = precision;
  recipe.attention = AttentionImplementation::kFlash2;
  recipe.micro_batch = 1;
  recipe.sequence_length = kTokens;
  recipe.checkpointing = spec::Checkpointing::kNone;
  if (method != Method::kFull) {
    recipe.lora = spec::LoraRecipe{.rank = 8, .dropout = 0, .targets = {"all-linear"}};
    recipe.load_dtype = Dtype::kBf16;
  }
  return recipe;
}

std::int64_t SavedPerToken(const char* text, const spec::Recipe& recipe,
                           const char* versions = "") {
  const auto json = config::ParseJson("toy.json", text);
  const auto model = readers::ReadModelConfig(json.value(), "toy", nullptr);
  EXPECT_TRUE(model.has_value());
  const auto facts = frameworks::FindFacts("transformers", versions);
  const plan::Plan plan = plan::ResolvePlan(recipe, std::make_shared<const spec::ModelSpec>(*model),
                                            spec::Machine{}, facts.value())
                              .value();
  program::SegmentStore store;
  const auto block = frameworks::huggingface::RecordBlock(plan, plan.model->Text().kinds[0], store,
                                                          true, /*has_gradients=*/false);
  return block.forward->summary(program::Place::kGpu).net.value() / kTokens;
}

struct Row {
  const char* name;
  spec::Recipe recipe;
  std::int64_t bytes;
};

TEST(SavedBySmallBlocks, LlamaStyle) {
  const auto eager = [](spec::Recipe recipe) {
    recipe.attention = AttentionImplementation::kEager;
    recipe.micro_batch = kTokens / 16;
    recipe.sequence_length = 16;
    return recipe;
  };
  const auto sdpa = [](spec::Recipe recipe) {  // flash attention has no fp32 kernel
    recipe.attention = AttentionImplementation::kSdpa;
    return recipe;
  };
  const auto with = [](spec::Recipe recipe, Dtype adapters, double dropout) {
    recipe.adapter_dtype = adapters;
    recipe.lora->dropout = dropout;
    return recipe;
  };
  const spec::Recipe lora = RecipeOf(Method::kLora, Precision::kBf16Pure);
  const Row rows[] = {
      {"A1", RecipeOf(Method::kFull, Precision::kBf16Pure), 2840},
      {"A2", eager(RecipeOf(Method::kFull, Precision::kBf16Pure)), 3208},
      {"A4", sdpa(RecipeOf(Method::kFull, Precision::kFp32)), 5144},
      {"A6", with(lora, Dtype::kBf16, 0), 2696},
      {"A7", with(lora, Dtype::kBf16, 0.05), 3752},
      {"A10", with(lora, Dtype::kFp32, 0), 4408},
      {"A11", with(lora, Dtype::kFp32, 0.05), 4952},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(SavedPerToken(kLlama, row.recipe), row.bytes) << row.name;
  }
}

// Beside attention and norms (A1 without its 8 i): a routed token keeps its gathered input 2 h,
// gate and up 4 i, silu 2 i, product 2 i and the expert's output 2 h; routing keeps some 70 bytes.
// The recorded loop over experts kept 2 h more, the source of its index_add, which the grouped
// experts of current transformers do not use.
TEST(SavedBySmallBlocks, MixtureOfExperts) {
  constexpr std::int64_t h = 64, i = 96, k = 2;
  constexpr std::int64_t kAttention = 2840 - 8 * 160;
  const std::int64_t saved = SavedPerToken(kMixtral, RecipeOf(Method::kFull, Precision::kBf16Pure));
  EXPECT_NEAR(static_cast<double>(saved), kAttention + k * (4 * h + 8 * i) + 70, 10);
}

// Without dropout: 32 h + 16 + 4 a head with GELU as one kernel; NewGELUActivation, written out in
// Python, keeps 24 h more.
TEST(SavedBySmallBlocks, Gpt2) {
  const spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure);
  std::string one_kernel = kGpt2;
  one_kernel.replace(one_kernel.find("gelu_new"), 8, "gelu");
  EXPECT_EQ(SavedPerToken(one_kernel.c_str(), recipe), 2080);
  EXPECT_EQ(SavedPerToken(kGpt2, recipe), 2080 + 24 * 64);
}

}  // namespace
}  // namespace trainfit
