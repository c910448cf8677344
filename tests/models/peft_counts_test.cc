// What PEFT printed for published adapters ("trainable params: … || all params: …"), against the
// tensors that are counted here; and the rules that no published count shows.
#include <gtest/gtest.h>

#include <string>

#include "config/file_reader.h"
#include "config/json_reader.h"
#include "plan/peft_tensors.h"
#include "readers/model_config.h"
#include "readers/peft_config.h"

namespace trainfit::plan {
namespace {

spec::ModelSpec CatalogModel(const std::string& file) {
  const auto node = config::ReadJsonFile("data/models/" + file + ".json");
  EXPECT_TRUE(node.has_value()) << file;
  auto model = readers::ReadModelConfig(*node->Find("config"), file, nullptr);
  EXPECT_TRUE(model.has_value()) << file;
  return std::move(*model);
}

spec::ModelSpec Model(const std::string& text) {
  auto model = readers::ReadModelConfig(*config::ParseJson("config.json", text), "test", nullptr);
  EXPECT_TRUE(model.has_value());
  return std::move(*model);
}

Expected<PeftTensors> Expand(const spec::ModelSpec& model, const std::string& adapter) {
  const auto node = config::ParseJson("adapter_config.json", "{" + adapter + "}");
  EXPECT_TRUE(node.has_value()) << adapter;
  ASSIGN_OR_RETURN(const spec::PeftConfig config, readers::ReadPeftConfig(*node));
  return ExpandPeft(model, config);
}

std::int64_t Trainable(const spec::ModelSpec& model, const std::string& adapter) {
  const auto tensors = Expand(model, adapter);
  if (tensors.has_value()) return tensors->Trainable();
  ADD_FAILURE() << tensors.error().front().message;
  return 0;
}

std::string ErrorOf(const spec::ModelSpec& model, const std::string& adapter) {
  const auto tensors = Expand(model, adapter);
  return tensors.has_value() ? "no error" : tensors.error().front().message;
}

TEST(PeftCountsTest, AsPublished) {
  struct Published {
    const char* file;
    const char* adapter;
    std::int64_t trainable;
    std::int64_t all;
  };
  const char* all_seven = R"("r": 16, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj",
                             "gate_proj", "up_proj", "down_proj"])";
  const Published published[] = {
      // huggingface/peft examples/int8_training (both)
      {"facebook--opt-6.7b", R"("r": 16, "target_modules": ["q_proj", "v_proj"])", 8388608,
       6666862592},
      {"openai--whisper-large-v2", R"("r": 32, "target_modules": ["q_proj", "v_proj"])", 15728640,
       1559033600},
      // huggingface/peft method_comparison
      {"meta-llama--Llama-3.2-3B-Instruct", R"("r": 64, "target_modules": ["q_proj", "v_proj"])",
       18350080, 3231099904},
      {"meta-llama--Llama-3.2-3B-Instruct",
       R"("r": 32, "target_modules": ["q_proj", "v_proj"], "use_dora": true)", 9289728, 3222039552},
      {"Qwen--Qwen2.5-7B", all_seven, 40370176, 7655986688},
      {"Qwen--Qwen2.5-1.5B", all_seven, 18464768, 1562179072},
      {"bigscience--bloom-7b1", R"("r": 16, "target_modules": ["query_key_value"])", 7864320,
       7076880384},
      // huggingface/peft examples/causal_language_modeling, sequence_classification
      {"bigscience--bloom-560m", R"("peft_type": "PROMPT_TUNING", "num_virtual_tokens": 8)", 8192,
       559222784},
      {"bigscience--bloom-560m", R"("peft_type": "PREFIX_TUNING", "num_virtual_tokens": 20)",
       983040, 560197632},
      {"bigscience--bloom-560m",
       R"("peft_type": "P_TUNING", "num_virtual_tokens": 20, "encoder_hidden_size": 128)", 300288,
       559514880},
      {"google-t5--t5-base", R"("r": 8, "target_modules": ["q", "v"])", 884736, 223788288},
  };
  for (const Published& row : published) {
    const spec::ModelSpec model = CatalogModel(row.file);
    const auto tensors = Expand(model, row.adapter);
    ASSERT_TRUE(tensors.has_value()) << row.file;
    EXPECT_EQ(tensors->Trainable(), row.trainable) << row.file << " " << row.adapter;
    EXPECT_EQ(spec::ParameterCount(model) + tensors->Added(), row.all) << row.file;
  }
}

// Two layers of 64, heads 4 of 16, two with keys, MLP 96.
spec::ModelSpec Small(const std::string& type = "llama", const std::string& more = "") {
  return Model(R"({"model_type": ")" + type + R"(", "vocab_size": 100, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2)" +
               more + "}");
}

TEST(PeftCountsTest, TargetsByListExpressionAndLayer) {
  const spec::ModelSpec model = Small();
  const std::int64_t q = 4 * (64 + 64);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ["q_proj"])"), 2 * q);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ".*layers\\.1\\..*q_proj")"), q);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ["q_proj"], "layers_to_transform": 1)"),
            q);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ["q_proj"],
                                 "rank_pattern": {"layers.1.self_attn.q_proj": 8})"),
            3 * q);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ["q_proj", "v_proj"],
                                 "exclude_modules": ["v_proj"])"),
            2 * q);
  EXPECT_EQ(Trainable(model, R"("r": 4, "target_modules": ["q_proj"],
                                 "modules_to_save": ["lm_head"])"),
            2 * q + 100 * 64);
}

TEST(PeftCountsTest, BiasesNormsAndEmbeddings) {
  const spec::ModelSpec qwen = Small("qwen2", R"(, "tie_word_embeddings": true)");
  const std::int64_t q = 4 * (64 + 64);
  EXPECT_EQ(Trainable(qwen, R"("r": 4, "target_modules": ["q_proj"], "bias": "all")"),
            2 * (q + 64 + 32 + 32));
  EXPECT_EQ(Trainable(qwen, R"("r": 4, "target_modules": ["q_proj"], "bias": "lora_only")"),
            2 * (q + 64));
  EXPECT_EQ(Trainable(qwen, R"("r": 4, "target_modules": ["embed_tokens", "lm_head"])"),
            2 * 4 * (100 + 64));
  EXPECT_EQ(Trainable(qwen, R"("peft_type": "LN_TUNING", "target_modules": ["input_layernorm"])"),
            2 * 64);
}

TEST(PeftCountsTest, OtherKinds) {
  const spec::ModelSpec model = Small();
  EXPECT_EQ(Trainable(model, R"("peft_type": "VERA", "r": 16, "target_modules": ["v_proj"])"),
            2 * (16 + 32));
  EXPECT_EQ(Trainable(model, R"("peft_type": "OFT", "oft_block_size": 16,
                                 "target_modules": ["q_proj"])"),
            2 * 4 * (16 * 15 / 2));
  // 30 does not divide 64: 32 is as near as any divisor.
  EXPECT_EQ(Trainable(model, R"("peft_type": "OFT", "oft_block_size": 30,
                                 "target_modules": ["q_proj"], "block_share": true)"),
            2 * (32 * 31 / 2));
  EXPECT_EQ(Trainable(model, R"("peft_type": "BOFT", "boft_block_size": 8,
                                 "target_modules": ["q_proj"])"),
            2 * (8 * 8 * 8 + 64));
  EXPECT_EQ(Trainable(model, R"("peft_type": "PREFIX_TUNING", "num_virtual_tokens": 5)"),
            5 * 2 * 2 * 32);
}

TEST(PeftCountsTest, ExpertsAreOneParameterALayer) {
  const spec::ModelSpec mixtral =
      Small("mixtral", R"(, "num_local_experts": 4, "num_experts_per_tok": 2)");
  const std::int64_t gate_up = 2 * 4 * 4 * (64 + 2 * 96);
  const std::int64_t down = 4 * 4 * (96 + 64);
  const std::int64_t router = 4 * (64 + 4);
  const std::int64_t attention = 4 * (2 * (64 + 64) + 2 * (64 + 32));
  EXPECT_EQ(Trainable(mixtral, R"("r": 4, "target_modules": ["w1", "w2", "w3"])"),
            2 * (gate_up + down));
  EXPECT_EQ(Trainable(mixtral, R"("r": 4, "target_modules": "all-linear")"),
            2 * (gate_up + down + router + attention));
  EXPECT_EQ(ErrorOf(mixtral, R"("r": 4, "target_modules": ["w1"])"),
            "w1 and w3 are one parameter: both are targets, or neither is");
  EXPECT_EQ(Trainable(mixtral, R"("r": 4, "target_parameters": ["experts.down_proj"])"), 2 * down);
}

TEST(PeftCountsTest, MistakesAreNamed) {
  const spec::ModelSpec model = Small();
  EXPECT_EQ(ErrorOf(model, R"("r": 4, "target_modules": ["query"])"),
            "test has no module of these names");
  EXPECT_NE(ErrorOf(model, R"("r": 4, "target_modules": "(q")").find("no regular expression"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(model, R"("peft_type": "MAGIC")"),
            "adapters of the kind \"MAGIC\" are not counted");
  EXPECT_NE(ErrorOf(model, R"("r": 4)").find("\"target_modules\" is missing"), std::string::npos);
  EXPECT_EQ(ErrorOf(model, R"("peft_type": "PROMPT_TUNING")"), "\"num_virtual_tokens\" is missing");
  EXPECT_NE(ErrorOf(model, R"("peft_type": "BOFT", "boft_block_size": 7,
                               "target_modules": ["q_proj"])")
                .find("blocks of 7 do not divide 64"),
            std::string::npos);
}

}  // namespace
}  // namespace trainfit::plan
