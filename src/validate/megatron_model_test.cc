// Records spell experts and latent attention in several ways; each must give the same model.
#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"
#include "validate/megatron_run.h"

namespace trainfit::validate {
namespace {

Expected<std::shared_ptr<const spec::ModelSpec>> Model(const std::string& more) {
  auto arch = config::ParseJson("arch", R"({"layers": 4, "hidden": 64, "heads": 4, "vocab": 100,
      "glu": true, "norm": "rms", "pos": "rope", "tied": false, "bias": false, )" +
                                            more + "}");
  EXPECT_TRUE(arch.has_value()) << more;
  Run run;
  run.model = "test";
  run.arch = *arch;
  return MegatronModel(run);
}

std::int64_t Count(const std::string& more) {
  const auto model = Model(more);
  return model.has_value() ? spec::ParameterCount(**model) : 0;
}

TEST(MegatronModelTest, ExpertsByAnyOfTheirNames) {
  // Attention 4 · 64², a router, four experts of 3 · 64 · 32, norms; two tables and a norm.
  const std::int64_t layer = 4 * 64 * 64 + 4 * 64 + 4 * 3 * 64 * 32 + 2 * 64;
  const std::int64_t all = 4 * layer + 2 * 100 * 64 + 64;
  EXPECT_EQ(Count(R"("ffn": 32, "experts": 4, "topk": 2)"), all);
  EXPECT_EQ(Count(R"("ffn": 32, "num_experts": 4, "top_k": 2)"), all);
  EXPECT_EQ(Count(R"("moe": {"experts": 4, "topk": 2, "expert_ffn": 32})"), all);
  EXPECT_EQ(Count(R"("ffn": 96, "num_experts": 4, "top_k": 2, "moe_ffn": 32)"), all);
}

TEST(MegatronModelTest, DenseLayersBeforeOrBetweenThoseWithExperts) {
  const std::int64_t dense = 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64;
  const std::int64_t sparse = 4 * 64 * 64 + 4 * 64 + 5 * 3 * 64 * 32 + 2 * 64;
  const std::int64_t ends = 2 * 100 * 64 + 64;
  EXPECT_EQ(Count(R"("ffn": 96, "moe": {"experts": 4, "topk": 2, "expert_ffn": 32, "shared": 1,
                     "first_dense_layers": 1})"),
            dense + 3 * sparse + ends);
  EXPECT_EQ(Count(R"("ffn": 96, "num_experts": 4, "top_k": 1, "moe_ffn": 32,
                     "shared_expert_ffn": 32, "moe_every": 2)"),
            2 * dense + 2 * sparse + ends);
}

TEST(MegatronModelTest, LatentAttentionAsFlagsObjectOrText) {
  const std::int64_t flags = Count(R"("ffn": 96, "mla": true, "q_lora_rank": 24, "kv_lora_rank": 16,
      "qk_head_dim": 8, "qk_rope_dim": 4, "v_head_dim": 8)");
  EXPECT_GT(flags, 0);
  EXPECT_EQ(Count(R"("ffn": 96, "mla": {"q_lora": 24, "kv_lora": 16, "qk_nope": 8, "qk_rope": 4,
                     "v": 8})"),
            flags);
  EXPECT_EQ(Count(R"("ffn": 96, "attention_type":
                     "MLA q_lora 24 kv_lora 16 qk_nope 8 rope 4 v 8")"),
            flags);
  EXPECT_FALSE(Model(R"("ffn": 96, "attention_type": "MLA")").has_value());
}

TEST(MegatronModelTest, EverySecondLayerMayHaveAWindow) {
  const auto model =
      Model(R"("ffn": 96, "attention_type": "alternating full / sliding-window 128, sinks")");
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ((*model)->Text().kinds.size(), 2u);
  EXPECT_EQ((*model)->Text().kinds[0].attention.window, 128);
  EXPECT_EQ((*model)->Text().kinds[1].attention.window, 0);
  EXPECT_EQ((*model)->Text().runs.size(), 4u);
  EXPECT_FALSE(Model(R"("ffn": 96, "attention_type": "block sparse")").has_value());
}

}  // namespace
}  // namespace trainfit::validate
