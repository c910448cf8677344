// Mixtures whose experts are stored as one parameter, and Grok-1.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::Activation;
using spec::NormKind;
using spec::Part;

// modeling_gpt_oss.py: the sinks are the module's own parameter and come first.
constexpr NamedPart kGptOssParts[] = {
    {Part::kSinks, "self_attn.sinks"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kRouter, "mlp.router"},
    {Part::kExpertGateUp, "mlp.experts.gate_up_proj"},
    {Part::kExpertDown, "mlp.experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

constexpr NamedPart kLlama4DenseParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "feed_forward.gate_proj"},
    {Part::kUp, "feed_forward.up_proj"},
    {Part::kDown, "feed_forward.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kLlama4SparseParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kExpertGateUp, "feed_forward.experts.gate_up_proj"},
    {Part::kExpertDown, "feed_forward.experts.down_proj"},
    {Part::kRouter, "feed_forward.router"},
    {Part::kSharedGate, "feed_forward.shared_expert.gate_proj"},
    {Part::kSharedUp, "feed_forward.shared_expert.up_proj"},
    {Part::kSharedDown, "feed_forward.shared_expert.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

constexpr NamedPart kDbrxParts[] = {
    {Part::kInputNorm, "norm_attn_norm.norm_1"},
    {Part::kQueryKeyValue, "norm_attn_norm.attn.Wqkv"},
    {Part::kOutput, "norm_attn_norm.attn.out_proj"},
    {Part::kPreMlpNorm, "norm_attn_norm.norm_2"},
    {Part::kRouter, "ffn.router.layer"},
    {Part::kExpertGate, "ffn.experts.mlp.w1"},
    {Part::kExpertUp, "ffn.experts.mlp.v1"},
    {Part::kExpertDown, "ffn.experts.mlp.w2"},
};

constexpr NamedPart kGraniteMoeParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kExpertGateUp, "block_sparse_moe.input_linear.weight"},
    {Part::kExpertDown, "block_sparse_moe.output_linear.weight"},
    {Part::kRouter, "block_sparse_moe.router.layer"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_qwen3_vl_moe.py.
constexpr NamedPart kQwen3VlMoeParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kRouter, "mlp.gate"},
    {Part::kExpertGateUp, "mlp.experts.gate_up_proj"},
    {Part::kExpertDown, "mlp.experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_grok1.py: linear is gated, linear_v is not, linear_1 goes down.
constexpr NamedPart kGrok1Parts[] = {
    {Part::kQuery, "attn.q_proj"},
    {Part::kKey, "attn.k_proj"},
    {Part::kValue, "attn.v_proj"},
    {Part::kOutput, "attn.o_proj"},
    {Part::kRouter, "moe_block.gate"},
    {Part::kExpertUp, "moe_block.experts.{e}.linear_v"},
    {Part::kExpertDown, "moe_block.experts.{e}.linear_1"},
    {Part::kExpertGate, "moe_block.experts.{e}.linear"},
    {Part::kInputNorm, "pre_attn_norm"},
    {Part::kPostAttentionNorm, "post_attn_norm"},
    {Part::kPreMlpNorm, "pre_moe_norm"},
    {Part::kPostMlpNorm, "post_moe_norm"},
};

// Layers with experts: `moe_layers`, or every interleave_moe_layer_step-th.
std::vector<bool> ReadLlama4Sparse(const ConfigView& config, std::int64_t layers) {
  std::vector<bool> sparse(static_cast<std::size_t>(layers));
  if (const Node* list = config.Find({"moe_layers"}); list != nullptr) {
    for (const Node& layer : list->items) {
      if (layer.kind != NodeKind::kInt || layer.integer < 0 || layer.integer >= layers) continue;
      sparse[static_cast<std::size_t>(layer.integer)] = true;
    }
    return sparse;
  }
  const std::int64_t step = config.SizeOr({"interleave_moe_layer_step"}, 1);
  for (std::int64_t l = step - 1; l < layers; l += step) sparse[static_cast<std::size_t>(l)] = true;
  return sparse;
}

// Layers with rotary positions: all but every no_rope_layer_interval-th.
std::vector<bool> ReadLlama4Rotary(const ConfigView& config, std::int64_t layers) {
  const std::int64_t interval = config.SizeOr({"no_rope_layer_interval"}, 4);
  const Node* list = config.Find({"no_rope_layers"});
  std::vector<bool> rotary(static_cast<std::size_t>(layers));
  for (std::int64_t l = 0; l < layers; ++l) {
    const auto i = static_cast<std::size_t>(l);
    // The list's ones mean "has rotary positions", its name notwithstanding.
    rotary[i] = list != nullptr && i < list->items.size() ? list->items[i].integer != 0
                                                          : (l + 1) % interval != 0;
  }
  return rotary;
}

}  // namespace

void BuildGptOss(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, true);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = true;
  plan.layer.router_bias = true;
  plan.layer.router_is_linear = false;
  plan.layer.fused_experts = true;
  plan.layer.expert_in_first = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 128, .per_token = 4, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kGptOssParts);
  const std::int64_t window = context.text.CountOr({"sliding_window"}, 128);
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t l) { return l % 2 == 0; }));
  FinishDecoder(context, std::move(plan));
}

void BuildLlama4Text(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.parts = kLlama4DenseParts;
  plan.layer.fused_experts = true;
  plan.layer.expert_in_first = true;
  ExpertSizes experts =
      ReadExperts(config, {.experts = 16, .per_token = 1, .width = plan.sizes.intermediate});
  experts.shared_width = plan.sizes.intermediate;
  const LayerPlan with_experts = WithExperts(plan.layer, experts, kLlama4SparseParts);
  LayerPlan dense = plan.layer;
  dense.kind.mlp.intermediate = config.SizeOr({"intermediate_size_mlp"}, 16384);

  const std::vector<bool> sparse = ReadLlama4Sparse(config, plan.sizes.layers);
  const std::vector<bool> rotary = ReadLlama4Rotary(config, plan.sizes.layers);
  const std::int64_t chunk = config.CountOr({"attention_chunk_size"}, 8192);
  const bool qk_norm = config.FlagOr({"use_qk_norm"}, true);
  const auto key = [&](std::int64_t l) {
    const auto i = static_cast<std::size_t>(l);
    return std::pair<bool, bool>(sparse[i], rotary[i]);
  };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = key(l).first ? with_experts : dense;
    layer.kind.attention.window = key(l).second ? chunk : 0;
    // Llama4TextL2Norm has no weights, and only layers with rotary positions use it.
    layer.kind.attention.qk_norm = qk_norm && key(l).second;
    if (!key(l).second) layer.kind.attention.rotary_dim = 0;
    return layer;
  });
  FinishDecoder(context, std::move(plan));
}

void BuildDbrx(ReadContext& context) {
  const ConfigView& config = context.text;
  const ConfigView attention = config.Section("attn_config");
  const ConfigView ffn = config.Section("ffn_config");
  DecoderPlan plan = PlanDecoder(context, {.has_mlp = false});
  plan.names = {.base = "transformer.",
                .layers = "blocks.{l}.",
                .token_embedding = "wte",
                .final_norm = "norm_f",
                .head = "lm_head"};
  plan.dropout = config.NumberOr({"resid_pdrop"}, 0);
  plan.layer.kind.norm = NormKind::kLayerNorm;  // without a bias
  plan.layer.fused_experts = true;
  plan.layer.flat_experts = true;
  // DbrxAttentionConfig, DbrxFFNConfig: 1 KV head, 4 experts, one a token, 3584 wide.
  plan.layer.kind.attention.kv_heads = attention.SizeOr({"kv_n_heads"}, 1);
  attention.RequireMultiple({"kv_n_heads"}, plan.sizes.heads, plan.layer.kind.attention.kv_heads,
                            "the number of attention heads must be a multiple of kv_n_heads");
  ExpertSizes experts = ReadExperts(ffn, {.experts = 4, .per_token = 1, .width = 3584});
  experts.width = ffn.SizeOr({"ffn_hidden_size"}, 3584);
  plan.layer = WithExperts(plan.layer, experts, kDbrxParts);
  FinishDecoder(context, std::move(plan));
}

void BuildGraniteMoe(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.fused_experts = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 8, .per_token = 2, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kGraniteMoeParts);
  FinishDecoder(context, std::move(plan));
}

void BuildQwen3VlMoeText(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.fused_experts = true;
  plan.layer.expert_in_first = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 60, .per_token = 4, .width = 1408});
  ApplySparsity(&plan, ReadSparseSteps(context.text, plan.sizes.layers), plan.layer,
                WithExperts(plan.layer, experts, kQwen3VlMoeParts));
  FinishDecoder(context, std::move(plan));
}

void BuildGrok1(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.logit_softcap = true;
  plan.layer.kind.mlp.activation = Activation::kGelu;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 8, .per_token = 2, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kGrok1Parts);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
