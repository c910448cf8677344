// DeepSeek and its relatives: shared and routed experts, latent attention.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::AttentionKind;
using spec::Part;

// modeling_deepseek.py (v1) and modeling_glm4_moe.py: ordinary attention; the correction bias is
// GLM's.
constexpr NamedPart kDeepseekParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kGlm4MoeParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kOther, "mlp.gate.e_score_correction_bias"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_deepseek_v2.py, modeling_deepseek_v3.py.
constexpr NamedPart kLatentDenseParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryDown, "self_attn.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.kv_b_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kLatentSparseParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryDown, "self_attn.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.kv_b_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
// The same with the correction bias of V3.
constexpr NamedPart kLatentCorrectedParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryDown, "self_attn.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.kv_b_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kOther, "mlp.gate.e_score_correction_bias"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_deepseek_v32.py, modeling_glm_moe_dsa.py: V3 with an indexer that picks the keys.
constexpr NamedPart kIndexedDenseParts[] = {
    {Part::kQueryDown, "self_attn.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.kv_b_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kMixer, "self_attn.indexer"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kIndexedSparseParts[] = {
    {Part::kQueryDown, "self_attn.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.kv_b_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kMixer, "self_attn.indexer"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kOther, "mlp.gate.e_score_correction_bias"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_longcat_flash.py: two attention blocks and two dense MLPs around one mixture.
constexpr NamedPart kLongcatParts[] = {
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kOther, "mlp.router.e_score_correction_bias"},
    {Part::kRouter, "mlp.router.classifier"},
    {Part::kQuery, "self_attn.0.q_proj"},
    {Part::kQueryDown, "self_attn.0.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.0.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.0.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.0.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.0.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.0.kv_b_proj"},
    {Part::kOutput, "self_attn.0.o_proj"},
    {Part::kQuery, "self_attn.1.q_proj"},
    {Part::kQueryDown, "self_attn.1.q_a_proj"},
    {Part::kQueryDownNorm, "self_attn.1.q_a_layernorm"},
    {Part::kQueryUp, "self_attn.1.q_b_proj"},
    {Part::kKeyValueDown, "self_attn.1.kv_a_proj_with_mqa"},
    {Part::kKeyValueDownNorm, "self_attn.1.kv_a_layernorm"},
    {Part::kKeyValueUp, "self_attn.1.kv_b_proj"},
    {Part::kOutput, "self_attn.1.o_proj"},
    {Part::kGate, "mlps.0.gate_proj"},
    {Part::kUp, "mlps.0.up_proj"},
    {Part::kDown, "mlps.0.down_proj"},
    {Part::kGate, "mlps.1.gate_proj"},
    {Part::kUp, "mlps.1.up_proj"},
    {Part::kDown, "mlps.1.down_proj"},
    {Part::kInputNorm, "input_layernorm.0"},
    {Part::kInputNorm, "input_layernorm.1"},
    {Part::kPreMlpNorm, "post_attention_layernorm.0"},
    {Part::kPreMlpNorm, "post_attention_layernorm.1"},
};

// Widths of latent attention: head_dim and KV heads of such files mean nothing for shapes.
// What a class takes where the file is silent.
struct LatentDefaults {
  std::int64_t query_rank = 1536;
  std::int64_t nope_head_dim = 128;
  std::int64_t value_head_dim = 128;
  std::int64_t index_heads = 64;
};
// configuration_glm4_moe_lite.py, configuration_glm_moe_dsa.py.
constexpr LatentDefaults kGlmLite = {
    .query_rank = 768, .nope_head_dim = 192, .value_head_dim = 256};
constexpr LatentDefaults kGlmIndexed = {
    .query_rank = 2048, .nope_head_dim = 192, .value_head_dim = 256, .index_heads = 32};

void UseLatentAttention(const ConfigView& config, const LatentDefaults& defaults,
                        DecoderPlan* plan) {
  spec::Attention& attention = plan->layer.kind.attention;
  const std::int64_t rope = config.SizeOr({"qk_rope_head_dim"}, 64);
  attention.kind = AttentionKind::kLatent;
  attention.kv_heads = attention.heads;
  attention.head_dim = config.SizeOr({"qk_nope_head_dim"}, defaults.nope_head_dim) + rope;
  attention.value_head_dim = config.SizeOr({"v_head_dim"}, defaults.value_head_dim);
  attention.query_rank =
      config.IsNull("q_lora_rank") ? 0 : config.CountOr({"q_lora_rank"}, defaults.query_rank);
  attention.kv_rank = config.SizeOr({"kv_lora_rank"}, 512);
  attention.rope_head_dim = rope;
  attention.rotary_dim = rope;
  plan->layer.latent_bias = config.FlagOr({"attention_bias"}, false);
  plan->layer.output_bias = plan->layer.latent_bias;
}

// Routed experts, and shared ones that are n_shared_experts times as wide as one.
ExpertSizes ReadDeepseekExperts(const ConfigView& config, const ExpertDefaults& defaults,
                                std::int64_t default_shared) {
  ExpertSizes experts = ReadExperts(config, defaults);
  experts.shared_width =
      Product(experts.width, config.CountOr({"n_shared_experts"}, default_shared));
  return experts;
}

// Layers that compute their own indices: `indexer_types` says "shared" for those that do not.
std::vector<bool> ReadIndexed(const ConfigView& config, std::int64_t layers) {
  std::vector<bool> indexed(static_cast<std::size_t>(layers), true);
  const config::Node* types = config.Find({"indexer_types"});
  if (types == nullptr) return indexed;
  for (std::size_t i = 0; i < indexed.size() && i < types->items.size(); ++i) {
    indexed[i] = types->items[i].text != "shared";
  }
  return indexed;
}

std::vector<spec::TensorSpec> Indexer(const ConfigView& config, std::int64_t hidden,
                                      std::int64_t query_rank, std::int64_t default_heads) {
  std::vector<spec::TensorSpec> tensors;
  TensorList list(&tensors);
  const std::int64_t heads = config.SizeOr({"index_n_heads"}, default_heads);
  const std::int64_t width = config.SizeOr({"index_head_dim"}, 128);
  list.Linear("self_attn.indexer.wq_b", query_rank, heads * width, Part::kMixer);
  list.Linear("self_attn.indexer.wk", hidden, width, Part::kMixer);
  list.Norm("self_attn.indexer.k_norm", width, spec::NormKind::kLayerNorm, true, Part::kMixer);
  list.Linear("self_attn.indexer.weights_proj", hidden, heads, Part::kMixer);
  return tensors;
}

}  // namespace

void BuildDeepseek(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.router_is_linear = false;
  const ExpertSizes experts = ReadDeepseekExperts(config, {}, 0);
  ApplySparsity(&plan, ReadSparseFromFirst(config, plan.sizes.layers, 0), plan.layer,
                WithExperts(plan.layer, experts, kDeepseekParts));
  FinishDecoder(context, std::move(plan));
}

void BuildGlm4Moe(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  plan.layer.SetAttentionBias(config.FlagOr({"attention_bias"}, false), false);
  plan.layer.kind.attention.qk_norm = config.FlagOr({"use_qk_norm"}, false);
  plan.layer.router_is_linear = false;
  const ExpertSizes experts =
      ReadDeepseekExperts(config, {.experts = 128, .per_token = 8, .width = 1408}, 1);
  ApplySparsity(&plan, ReadSparseFromFirst(config, plan.sizes.layers, 1), plan.layer,
                WithExperts(plan.layer, experts, kGlm4MoeParts));
  FinishDecoder(context, std::move(plan));
}

void BuildDeepseekV2(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.heads_divide = false});
  plan.layer.parts = kLatentDenseParts;
  UseLatentAttention(config, {}, &plan);
  plan.layer.mlp_bias = config.FlagOr({"mlp_bias"}, false);
  plan.layer.router_is_linear = false;
  const ExpertSizes experts =
      ReadDeepseekExperts(config, {.experts = 64, .per_token = 6, .width = 1407}, 2);
  ApplySparsity(&plan, ReadSparseFromFirst(config, plan.sizes.layers, 0), plan.layer,
                WithExperts(plan.layer, experts, kLatentSparseParts));
  FinishDecoder(context, std::move(plan));
}

namespace {

void BuildV3(ReadContext& context, const LatentDefaults& latent, const ExpertDefaults& defaults,
             std::int64_t first_sparse) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.heads_divide = false});
  plan.layer.parts = kLatentDenseParts;
  UseLatentAttention(config, latent, &plan);
  plan.layer.router_is_linear = false;
  const ExpertSizes experts = ReadDeepseekExperts(config, defaults, 1);
  ApplySparsity(&plan, ReadSparseFromFirst(config, plan.sizes.layers, first_sparse), plan.layer,
                WithExperts(plan.layer, experts, kLatentCorrectedParts));
  FinishDecoder(context, std::move(plan));
}

}  // namespace

void BuildDeepseekV3(ReadContext& context) {
  BuildV3(context, {}, {.experts = 256, .per_token = 8, .width = 2048}, 3);
}

void BuildGlm4MoeLite(ReadContext& context) {
  BuildV3(context, kGlmLite, {.experts = 64, .per_token = 4, .width = 1536}, 1);
}

void BuildIndexedLatent(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.heads_divide = false});
  const LatentDefaults latent = context.text_type == "glm_moe_dsa" ? kGlmIndexed : LatentDefaults();
  UseLatentAttention(config, latent, &plan);
  plan.layer.router_is_linear = false;
  const ExpertSizes experts =
      ReadDeepseekExperts(config, {.experts = 256, .per_token = 8, .width = 2048}, 1);
  const std::vector<bool> sparse = ReadSparseFromFirst(config, plan.sizes.layers, 3);
  const std::vector<bool> indexed = ReadIndexed(config, plan.sizes.layers);
  const auto key = [&](std::int64_t l) {
    const auto i = static_cast<std::size_t>(l);
    return std::pair<bool, bool>(sparse[i], indexed[i]);
  };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer =
        key(l).first ? WithExperts(plan.layer, experts, kIndexedSparseParts) : plan.layer;
    if (!key(l).first) layer.parts = kIndexedDenseParts;
    if (key(l).second) {
      layer.mixer =
          Indexer(config, plan.sizes.hidden, layer.kind.attention.query_rank, latent.index_heads);
    }
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

void BuildDots1(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.router_is_linear = false;
  const ExpertSizes experts = ReadDeepseekExperts(config, {.width = 1408}, 0);
  ApplySparsity(&plan, ReadSparseFromFirst(config, plan.sizes.layers, 0), plan.layer,
                WithExperts(plan.layer, experts, kGlm4MoeParts));
  FinishDecoder(context, std::move(plan));
}

void BuildLongcatFlash(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.heads_divide = false});
  UseLatentAttention(config, {}, &plan);
  const std::int64_t dense_width = plan.sizes.intermediate;
  const ExpertSizes experts = ReadExperts(config, {.experts = 512, .per_token = 12, .width = 2048});
  plan.layer = WithExperts(plan.layer, experts, kLongcatParts);
  plan.layer.dense_width = dense_width;
  plan.layer.router_bias = config.FlagOr({"router_bias"}, false);
  // Identity experts have rows at the router and no weights.
  plan.layer.router_rows = experts.experts + config.CountOr({"zero_expert_num"}, 256);
  context.spec.not_simulated = "two attention blocks a layer around a mixture of experts";
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
