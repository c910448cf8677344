// What is peculiar to single families, each from a small text.
#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"
#include "readers/model_config.h"

namespace trainfit::readers {
namespace {

using spec::AttentionKind;
using spec::LayerKind;
using spec::ModelSpec;
using spec::TensorSpec;

ModelSpec Read(const std::string& text) {
  const auto node = config::ParseJson("config.json", text);
  EXPECT_TRUE(node.has_value());
  const auto model = ReadModelConfig(*node, "test", nullptr);
  if (model.has_value()) return *model;
  for (const Diagnostic& error : model.error()) ADD_FAILURE() << RenderText(error);
  ModelSpec empty;
  empty.stacks.emplace_back().kinds.emplace_back();
  return empty;
}

std::string FirstError(const std::string& text) {
  const auto model = ReadModelConfig(*config::ParseJson("config.json", text), "test", nullptr);
  return model.has_value() ? "no error" : model.error().front().message;
}

// Sizes that most of the tests share.
std::string Small(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100)" +
         (more.empty() ? "" : ", " + more) + "}";
}

const TensorSpec* Find(const std::vector<TensorSpec>& tensors, const std::string& name) {
  for (const TensorSpec& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

TEST(FamiliesTest, MistralsWindowIsTheClassDefaultUnlessNull) {
  EXPECT_EQ(Read(Small("mistral", "")).Text().kinds[0].attention.window, 4096);
  EXPECT_EQ(Read(Small("mistral", R"("sliding_window": null)")).Text().kinds[0].attention.window,
            0);
}

TEST(FamiliesTest, Qwen2HasBiasesAndNoWindowUnlessItIsInUse) {
  const std::string keys = R"("sliding_window": 16, "max_window_layers": 2)";
  const ModelSpec off = Read(Small("qwen2", keys));
  EXPECT_NE(Find(off.Text().kinds[0].tensors, "self_attn.q_proj.bias"), nullptr);
  EXPECT_EQ(Find(off.Text().kinds[0].tensors, "self_attn.o_proj.bias"), nullptr);
  EXPECT_EQ(off.Text().kinds.size(), 1u);
  const ModelSpec on = Read(Small("qwen2", keys + R"(, "use_sliding_window": true)"));
  ASSERT_EQ(on.Text().runs.size(), 2u);
  EXPECT_EQ(on.Text().kinds[0].attention.window, 0);
  EXPECT_EQ(on.Text().kinds[1].attention.window, 16);
}

TEST(FamiliesTest, AClassDefaultThatDoesNotFitIsNamed) {
  EXPECT_EQ(FirstError(R"({"model_type": "mistral", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100})"),
            "\"num_key_value_heads\" is missing, and 8, the default of MistralConfig, does not "
            "divide the 4 attention heads");
}

TEST(FamiliesTest, LayerTypesMustFitTheLayers) {
  EXPECT_EQ(FirstError(Small("gemma3_text", R"("layer_types": ["full_attention"])")),
            "\"layer_types\" has 1 entries for 4 layers");
}

TEST(FamiliesTest, FalconSharesOneKeyAndValueHead) {
  const ModelSpec model = Read(Small("falcon", R"("multi_query": true)"));
  const LayerKind& layer = model.Text().kinds[0];
  EXPECT_EQ(layer.attention.kv_heads, 1);
  EXPECT_TRUE(layer.parallel);
  EXPECT_EQ(layer.tensors[0].shape, (std::vector<std::int64_t>{96, 64}));
}

TEST(FamiliesTest, LatentAttentionWithAndWithoutQueryLatent) {
  const std::string keys = R"("n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32, "kv_lora_rank": 24, "qk_rope_head_dim": 8,
      "qk_nope_head_dim": 16, "v_head_dim": 12, "first_k_dense_replace": 1, "q_lora_rank": )";
  const ModelSpec with = Read(Small("deepseek_v2", keys + "40"));
  ASSERT_EQ(with.Text().runs.size(), 2u);
  const LayerKind& layer = with.Text().kinds[0];
  EXPECT_EQ(layer.attention.kind, AttentionKind::kLatent);
  EXPECT_EQ(layer.attention.head_dim, 24);
  EXPECT_EQ(layer.attention.value_head_dim, 12);
  const auto* up = Find(layer.tensors, "self_attn.kv_b_proj.weight");
  ASSERT_NE(up, nullptr);
  // 4 heads of 16 (key) and 12 (value).
  EXPECT_EQ(up->shape, (std::vector<std::int64_t>{112, 24}));
  EXPECT_EQ(with.not_simulated, "multi-head latent attention");
  const ModelSpec without = Read(Small("deepseek_v2", keys + "null"));
  EXPECT_NE(Find(without.Text().kinds[0].tensors, "self_attn.q_proj.weight"), nullptr);
  EXPECT_EQ(Find(without.Text().kinds[0].tensors, "self_attn.q_a_proj.weight"), nullptr);
}

TEST(FamiliesTest, EncoderDecodersHaveTwoStacksWithTheDecoderLast) {
  const ModelSpec model = Read(R"({"model_type": "whisper", "d_model": 64, "encoder_layers": 2,
      "encoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_layers": 3,
      "decoder_attention_heads": 4, "decoder_ffn_dim": 96, "vocab_size": 100,
      "architectures": ["WhisperForConditionalGeneration"]})");
  ASSERT_EQ(model.stacks.size(), 2u);
  EXPECT_EQ(model.stacks[0].role, spec::StackRole::kAudio);
  const auto* fixed = Find(model.stacks[0].before, "model.encoder.embed_positions.weight");
  ASSERT_NE(fixed, nullptr);
  EXPECT_FALSE(fixed->trainable);
  EXPECT_EQ(model.Text().Layers(), 3);
  EXPECT_TRUE(model.Text().kinds[0].attention.has_cross_attention);
  EXPECT_EQ(Find(model.Text().kinds[0].tensors, "self_attn.k_proj.bias"), nullptr);
  EXPECT_NE(Find(model.Text().kinds[0].tensors, "encoder_attn.v_proj.bias"), nullptr);
}

TEST(FamiliesTest, TheTextPartOfALlavaTakesClassDefaultsAndSaysSo) {
  const auto node = config::ParseJson("config.json", R"({"model_type": "llava",
      "architectures": ["LlavaForConditionalGeneration"],
      "text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config": {}})");
  Diagnostics notes;
  const auto model = ReadModelConfig(*node, "test", &notes);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->Text().hidden, 4096);
  EXPECT_EQ(model->Text().layer_prefix, "language_model.model.layers.{l}.");
  EXPECT_EQ(model->not_simulated, "a vision tower");
  EXPECT_EQ(notes.size(), 4u + 4u);  // main sizes of the tower and of the language model
  EXPECT_EQ(notes.back().severity, Severity::kNote);
}

TEST(FamiliesTest, AVisionModelInsideAVisionModelIsRefused) {
  EXPECT_EQ(FirstError(R"({"model_type": "llava", "text_config": {"model_type": "llava"},
                           "vision_config": {}})"),
            "\"llava\" is no language model");
}

TEST(FamiliesTest, OfAnUnknownModelOfSeveralPartsTheLanguageModelIsRead) {
  const auto node = config::ParseJson(
      "config.json", R"({"model_type": "novel_vl", "text_config": )" + Small("qwen3", "") + "}");
  Diagnostics warnings;
  const auto model = ReadModelConfig(*node, "test", &warnings);
  ASSERT_TRUE(model.has_value());
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings[0].message,
            "\"novel_vl\" is no known model_type: only its language model (\"qwen3\") is read");
  EXPECT_NE(model->not_simulated, "");
}

TEST(FamiliesTest, HybridPatternsAreChecked) {
  const std::string keys = R"("mamba_num_heads": 4, "hybrid_override_pattern": )";
  const ModelSpec model = Read(Small("nemotron_h", keys + "\"M-*-\""));
  EXPECT_EQ(model.Text().kinds.size(), 3u);
  EXPECT_EQ(FirstError(Small("nemotron_h", keys + "\"M-*\"")),
            "\"hybrid_override_pattern\" has 3 letters for 4 layers");
  EXPECT_EQ(FirstError(Small("nemotron_h", keys + "\"M-X-\"")),
            "layer 2 of \"hybrid_override_pattern\" is none of M (Mamba-2), - (MLP), * "
            "(attention), E (experts)");
}

TEST(FamiliesTest, FilesWithoutATypeAreKnownByTheirClass) {
  const auto node = config::ParseJson("config.json", R"({
      "_class_name": "UNet2DConditionModel", "block_out_channels": [32, 64],
      "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
      "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"], "cross_attention_dim": 48})");
  Diagnostics warnings;
  const auto model = ReadModelConfig(*node, "test", &warnings);
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(model->Text().runs.size(), 5u);  // two levels down, the middle, two levels up
}

}  // namespace
}  // namespace trainfit::readers
