// Parameters of transformers' classes (5.24.0, made on the meta device by
// tests/oracle/architectures) against what is read from their main sizes.
#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"
#include "readers/model_config.h"

namespace trainfit::readers {
namespace {

std::int64_t Count(const std::string& text) {
  const auto node = config::ParseJson("config.json", text);
  EXPECT_TRUE(node.has_value()) << text;
  const auto model = ReadModelConfig(*node, "test", nullptr);
  if (model.has_value()) return ParameterCount(*model);
  for (const Diagnostic& error : model.error()) ADD_FAILURE() << RenderText(error);
  return 0;
}

// vocabulary, width, MLP, layers, heads: "type", those five, and what else the file states.
std::string File(const std::string& type, std::int64_t vocab, std::int64_t hidden,
                 std::int64_t intermediate, int layers, int heads, const std::string& more = "") {
  return "{\"model_type\": \"" + type + "\", \"vocab_size\": " + std::to_string(vocab) +
         ", \"hidden_size\": " + std::to_string(hidden) +
         ", \"intermediate_size\": " + std::to_string(intermediate) +
         ", \"num_hidden_layers\": " + std::to_string(layers) +
         ", \"num_attention_heads\": " + std::to_string(heads) + (more.empty() ? "" : ", ") + more +
         "}";
}

TEST(ClassCountsTest, Encoders) {
  const std::string masked = R"("architectures": ["AlbertForMaskedLM"])";
  EXPECT_EQ(Count(File("albert", 30000, 4096, 16384, 12, 64, masked)), 206'368'944);
  EXPECT_EQ(Count(R"({"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"],
                      "vocab_size": 30522, "dim": 768, "hidden_dim": 3072, "n_layers": 6,
                      "n_heads": 12})"),
            66'985'530);
  EXPECT_EQ(
      Count(File("electra", 30522, 256, 1024, 12, 4, R"("architectures": ["ElectraForMaskedLM"])")),
      13'546'682);
}

TEST(ClassCountsTest, StateSpacesBesideAttention) {
  EXPECT_EQ(Count(File("bamba", 128000, 4096, 14336, 10, 32, R"("attn_layer_indices": [3, 9])")),
            3'720'850'432);
  EXPECT_EQ(Count(File("falcon_h1", 128000, 4096, 14336, 32, 32, R"("num_key_value_heads": 8)")),
            8'514'961'408);
  EXPECT_EQ(Count(File("granitemoehybrid", 32000, 4096, 11008, 2, 32,
                       R"("num_local_experts": 8, "layer_types": ["mamba", "attention"])")),
            2'622'102'400);
  EXPECT_EQ(Count(File("granitemoeshared", 32000, 4096, 11008, 2, 32,
                       R"("num_local_experts": 8, "shared_intermediate_size": 512)")),
            2'573'291'520);
  EXPECT_EQ(Count(File("zamba2", 32000, 2560, 10240, 54, 32)), 2'481'848'336);
}

TEST(ClassCountsTest, Mixtures) {
  EXPECT_EQ(Count(File("ernie4_5_moe", 103424, 2560, 12288, 28, 20,
                       R"("num_key_value_heads": 4, "moe_num_experts": 64)")),
            21'825'437'888);
  EXPECT_EQ(Count(File("hunyuan_v1_moe", 290943, 4096, 11008, 32, 32,
                       R"("num_experts": [4, 4], "moe_topk": [2, 2])")),
            26'174'296'064);
  EXPECT_EQ(Count(File("flex_olmo", 100352, 4096, 11008, 32, 32, R"("num_experts": 7)")),
            33'270'665'216);
  EXPECT_EQ(Count(File("minimax", 32000, 4096, 14336, 32, 32,
                       R"("num_key_value_heads": 8, "num_local_experts": 8)")),
            47'373'946'880);
  EXPECT_EQ(Count(File("glm4_moe_lite", 154880, 2048, 10240, 47, 20, R"("n_routed_experts": 64)")),
            29'943'390'976 + 46 * 64);  // with the correction biases, which are buffers there
}

TEST(ClassCountsTest, Decoders) {
  EXPECT_EQ(Count(File("gemma3n_text", 262400, 2048, 16384, 35, 8)), 6'835'235'568);
  EXPECT_EQ(Count(File("vaultgemma", 256000, 2304, 9216, 26, 8)), 2'614'222'080);
  EXPECT_EQ(Count(File("bitnet", 128256, 2560, 6912, 30, 20, R"("num_key_value_heads": 5)")),
            2'741'155'840);
  EXPECT_EQ(Count(File("glm4", 151552, 4096, 13696, 40, 32)),
            Count(File("glm4", 151552, 4096, 13696, 40, 32, R"("attention_bias": true)")));
  // MiMo-7B: 7.83 billion with the layer that predicts one token further.
  EXPECT_EQ(Count(File("mimo", 151680, 4096, 11008, 36, 32,
                       R"("num_key_value_heads": 8, "num_nextn_predict_layers": 1)")),
            7'833'409'536);
}

TEST(ClassCountsTest, LayersOfDifferentShapes) {
  // One layer whole, one without attention, one with a linear layer in place of its MLP.
  const std::string blocks = R"("block_configs": [
      {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 3.0}},
      {"attention": {"no_op": true}, "ffn": {"ffn_mult": 1.5}},
      {"attention": {"n_heads_in_group": 8}, "ffn": {"replace_with_linear": true}}])";
  const std::string text = R"({"model_type": "nemotron-nas", "vocab_size": 1000, "hidden_size": 512,
      "num_hidden_layers": 3, "num_attention_heads": 8, )" +
                           blocks + "}";
  const std::int64_t whole = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024 + 2 * 512;
  const std::int64_t mlp_alone = 3 * 512 * 512 + 512;
  const std::int64_t linear = 2 * 512 * 512 + 2 * 512 * 64 + 512 * 512 + 2 * 512;
  EXPECT_EQ(Count(text), 2 * 1000 * 512 + whole + mlp_alone + linear + 512);
}

}  // namespace
}  // namespace trainfit::readers
