#include "readers/model_config.h"

#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"

namespace trainfit::readers {
namespace {

using spec::AttentionKind;
using spec::MlpKind;
using spec::ModelSpec;
using spec::Part;

constexpr const char* kLlama = R"({
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 64,
  "intermediate_size": 160,
  "num_hidden_layers": 3,
  "num_attention_heads": 8,
  "num_key_value_heads": 2,
  "vocab_size": 100,
  "torch_dtype": "bfloat16",
  "max_position_embeddings": 2048
})";

Expected<ModelSpec> Read(const std::string& text, Diagnostics* warnings = nullptr) {
  const auto node = config::ParseJson("config.json", text);
  if (!node.has_value()) return Fail(node.error());
  return ReadModelConfig(*node, "test/model", warnings);
}

// The messages of all errors, rendered.
std::string ErrorsOf(const std::string& text) {
  const auto model = Read(text);
  if (model.has_value()) return "no error";
  std::string all;
  for (const Diagnostic& error : model.error()) all += RenderText(error);
  return all;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ModelConfigTest, AMistypedTypeOrActivationNamesTheNearestWord) {
  Diagnostics warnings;
  const std::string mistyped = Replaced(kLlama, R"("llama",)", R"("lama", "hidden_act": "sillu",)");
  ASSERT_TRUE(Read(Replaced(mistyped, "LlamaForCausalLM", "OwnModel"), &warnings).has_value());
  std::string all;
  for (const Diagnostic& warning : warnings) all += RenderText(warning);
  EXPECT_NE(all.find("\"lama\" is no known model_type"), std::string::npos) << all;
  EXPECT_NE(all.find("\"model_type\": \"llama\""), std::string::npos) << all;
  EXPECT_NE(all.find("\"sillu\" is no activation"), std::string::npos) << all;
  EXPECT_NE(all.find("try: silu"), std::string::npos) << all;
  warnings.clear();
  ASSERT_TRUE(Read(Replaced(kLlama, R"("llama",)", R"("llama", "hidden_act": "mish",)"), &warnings)
                  .has_value());
  EXPECT_TRUE(warnings.empty());
}

TEST(ModelConfigTest, ReadsLlamaToTheTensor) {
  const auto model = Read(kLlama);
  ASSERT_TRUE(model.has_value()) << ErrorsOf(kLlama);
  EXPECT_EQ(model->id, "test/model");
  EXPECT_EQ(model->architecture, "LlamaForCausalLM");
  EXPECT_EQ(model->checkpoint_dtype, spec::Dtype::kBf16);
  EXPECT_EQ(model->max_positions, 2048);
  EXPECT_EQ(model->not_simulated, "");
  EXPECT_FALSE(model->tied_head);

  const spec::Stack& stack = model->Text();
  EXPECT_EQ(stack.layer_prefix, "model.layers.{l}.");
  EXPECT_EQ(stack.Layers(), 3);
  ASSERT_EQ(stack.kinds.size(), 1u);
  const spec::LayerKind& layer = stack.kinds[0];
  EXPECT_EQ(layer.attention.kind, AttentionKind::kSoftmax);
  EXPECT_EQ(layer.attention.kv_heads, 2);
  EXPECT_EQ(layer.attention.head_dim, 8);
  EXPECT_EQ(layer.mlp.kind, MlpKind::kGated);
  ASSERT_EQ(layer.tensors.size(), 9u);
  EXPECT_EQ(layer.tensors[1].name, "self_attn.k_proj.weight");
  EXPECT_EQ(layer.tensors[1].shape, (std::vector<std::int64_t>{16, 64}));
  EXPECT_TRUE(layer.tensors[1].is_linear);
  EXPECT_EQ(layer.tensors[8].name, "post_attention_layernorm.weight");
  EXPECT_EQ(layer.tensors[8].part, Part::kPreMlpNorm);

  // Per layer: q and o 64·64, k and v 64·16, three MLP matrices, two norms.
  constexpr std::int64_t kHidden = 64;
  const std::int64_t per_layer =
      2 * kHidden * 64 + 2 * kHidden * 16 + 3 * kHidden * 160 + 2 * kHidden;
  EXPECT_EQ(ParameterCount(*model), std::int64_t{2} * 100 * kHidden + 3 * per_layer + kHidden);
}

TEST(ModelConfigTest, TiedHeadIsStoredOnce) {
  const auto untied = Read(kLlama);
  const auto tied =
      Read(Replaced(kLlama, "\"vocab_size\"", "\"tie_word_embeddings\": true, \"vocab_size\""));
  ASSERT_TRUE(untied.has_value() && tied.has_value());
  EXPECT_TRUE(tied->tied_head);
  EXPECT_TRUE(tied->has_head);
  EXPECT_EQ(ParameterCount(*untied) - ParameterCount(*tied), 100 * 64);
}

TEST(ModelConfigTest, ClassDecidesTheHead) {
  const auto bare = Read(Replaced(kLlama, "LlamaForCausalLM", "LlamaModel"));
  ASSERT_TRUE(bare.has_value());
  EXPECT_FALSE(bare->has_head);
  EXPECT_EQ(bare->Text().layer_prefix, "layers.{l}.");
  const auto reward = Read(Replaced(kLlama, "LlamaForCausalLM", "LlamaForSequenceClassification"));
  ASSERT_TRUE(reward.has_value());
  EXPECT_EQ(ParameterCount(*reward) - ParameterCount(*bare), 2 * 64);
  EXPECT_EQ(reward->Text().after.back().name, "score.weight");
}

TEST(ModelConfigTest, MissingKeyIsNamedWithTheNearestPresentOne) {
  EXPECT_EQ(
      ErrorsOf(Replaced(kLlama, "hidden_size", "hiden_size")),
      "config.json:1:1: error: \"hidden_size\" is missing\n"
      "  {\n"
      "  ^\n"
      "  note: transformers would take 4096 here, the default of LlamaConfig, which is hardly "
      "meant\n"
      "  try: \"hidden_size\" instead of \"hiden_size\"\n");
}

TEST(ModelConfigTest, AllComplaintsComeAtOnce) {
  const auto model = Read(R"({"model_type": "llama", "vocab_size": 10})");
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().size(), 4u);  // hidden, layers, heads, intermediate
}

TEST(ModelConfigTest, AbsurdSizesAreRefusedWhereTheyStand) {
  for (const char* size : {"0", "-4", "16777217", "1e30", "\"64\"", "64.5", "[64]", "true"}) {
    const std::string errors =
        ErrorsOf(Replaced(kLlama, "\"hidden_size\": 64", std::string("\"hidden_size\": ") + size));
    EXPECT_TRUE(errors.starts_with("config.json:4:18: error:")) << size << "\n" << errors;
    EXPECT_NE(errors.find("hidden_size"), std::string::npos) << errors;
  }
  EXPECT_NE(ErrorsOf(Replaced(kLlama, "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4097"))
                .find("config.json:6:24: error:"),
            std::string::npos);
}

TEST(ModelConfigTest, HeadsMustDivide) {
  const std::string odd_heads = ErrorsOf(
      Replaced(Replaced(kLlama, "_heads\": 8", "_heads\": 7"), "_heads\": 2", "_heads\": 7"));
  EXPECT_EQ(odd_heads.substr(0, odd_heads.find('\n')),
            "config.json:7:26: error: the width must be a multiple of the number of attention "
            "heads: 64 is not a multiple of 7");
  const std::string groups = ErrorsOf(Replaced(kLlama, "_heads\": 2", "_heads\": 3"));
  EXPECT_EQ(groups.substr(0, groups.find('\n')),
            "config.json:8:26: error: the number of attention heads must be a multiple of the "
            "number of key/value heads: 8 is not a multiple of 3");
}

TEST(ModelConfigTest, HugeTotalIsRefused) {
  std::string text = Replaced(kLlama, "\"hidden_size\": 64", "\"hidden_size\": 16777216");
  text = Replaced(text, "\"intermediate_size\": 160", "\"intermediate_size\": 16777216");
  EXPECT_EQ(ErrorsOf(text).substr(0, 83),
            "config.json:1:1: error: the model would have more than 100000000000000 parameters\n ");
}

TEST(ModelConfigTest, UnknownTypeIsReadAsTheNearestArchitecture) {
  Diagnostics warnings;
  std::string text = Replaced(kLlama, "\"llama\"", "\"nextgen\"");
  text = Replaced(text, "LlamaForCausalLM", "NextGenForCausalLM");
  const auto model = Read(text, &warnings);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->model_type, "nextgen");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].severity, Severity::kWarning);
  EXPECT_EQ(warnings[0].message,
            "\"nextgen\" is no known model_type: read as \"llama\", which its keys fit");
  EXPECT_EQ(warnings[0].span.line, 3);
  EXPECT_EQ(ParameterCount(*model), ParameterCount(*Read(kLlama)));
}

TEST(ModelConfigTest, NothingKnownIsAnError) {
  EXPECT_EQ(ErrorsOf(R"({"model_type": "mixtrall"})"),
            "config.json:1:16: error: \"mixtrall\" is no known model_type, and no known "
            "architecture has keys like these\n"
            "  {\"model_type\": \"mixtrall\"}\n"
            "                 ^~~~~~~~~~\n"
            "  try: \"model_type\": \"mixtral\"\n");
  EXPECT_NE(ErrorsOf("[]").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(ErrorsOf("{}").find("there is no \"model_type\""), std::string::npos);
}

TEST(ModelConfigTest, TwoNamesWithTwoValuesWarn) {
  Diagnostics warnings;
  const auto model = Read(
      Replaced(kLlama, "\"hidden_size\": 64", "\"hidden_size\": 64, \"d_model\": 32"), &warnings);
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message,
            "\"hidden_size\" is 64 but \"d_model\" is 32: two names of one size; 64 is used");
}

TEST(ModelConfigTest, Gemma3AlternatesWindowsAndStoresThreeRuns) {
  const auto model = Read(R"({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4,
    "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 50, "sliding_window": 512})");
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE(model->tied_head);  // the class default
  const spec::Stack& stack = model->Text();
  ASSERT_EQ(stack.runs.size(), 3u);  // five local, one global, two local
  EXPECT_EQ(stack.runs[0].count, 5);
  EXPECT_EQ(stack.kinds[static_cast<std::size_t>(stack.runs[0].kind)].attention.window, 512);
  EXPECT_EQ(stack.runs[1].first, 5);
  EXPECT_EQ(stack.kinds[static_cast<std::size_t>(stack.runs[1].kind)].attention.window, 0);
  EXPECT_TRUE(stack.kinds[0].attention.qk_norm);
  EXPECT_TRUE(stack.kinds[0].post_norms);
}

TEST(ModelConfigTest, ExpertsAreCountedOnceAndPerToken) {
  const std::string text = R"({"model_type": "mixtral", "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 50, "num_local_experts": 8, "num_experts_per_tok": 2})";
  const auto model = Read(text);
  ASSERT_TRUE(model.has_value());
  const spec::LayerKind& layer = model->Text().kinds[0];
  EXPECT_EQ(layer.mlp.kind, MlpKind::kMoe);
  EXPECT_EQ(layer.tensors[5].name, "block_sparse_moe.experts.{e}.w1.weight");
  EXPECT_EQ(layer.tensors[5].copies, 8);
  EXPECT_EQ(ParameterCount(*model) - ActiveParameterCount(*model), 2 * 6 * 3 * 64 * 128);
  EXPECT_EQ(model->not_simulated, "");

  const std::string errors = ErrorsOf(Replaced(text, "_tok\": 2", "_tok\": 9"));
  EXPECT_NE(errors.find("a token uses 9 experts, but a layer has only 8"), std::string::npos)
      << errors;
}

}  // namespace
}  // namespace trainfit::readers
