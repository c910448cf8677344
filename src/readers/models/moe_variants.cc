// Mixtures of experts that differ from Qwen's and DeepSeek's in names and in what stands beside
// them.
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::Part;

// modeling_ernie4_5_moe.py: the correction bias is a matrix of one row, in a module of its own.
constexpr NamedPart kErnieMoeParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kRouter, "mlp.gate"},
    {Part::kMixer, "mlp.moe_statics"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kSharedGate, "mlp.shared_experts.gate_proj"},
    {Part::kSharedUp, "mlp.shared_experts.up_proj"},
    {Part::kSharedDown, "mlp.shared_experts.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_hunyuan_v1_moe.py.
constexpr NamedPart kHunyuanMoeParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.query_layernorm"},
    {Part::kKeyNorm, "self_attn.key_layernorm"},
    {Part::kRouter, "mlp.gate.wg"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kSharedGate, "mlp.shared_mlp.gate_proj"},
    {Part::kSharedUp, "mlp.shared_mlp.up_proj"},
    {Part::kSharedDown, "mlp.shared_mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_flex_olmo.py: OLMoE's experts, OLMo-2's norms behind the sub-layers.
constexpr NamedPart kFlexOlmoParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kRouter, "mlp.gate"},
    {Part::kExpertGate, "mlp.experts.{e}.gate_proj"},
    {Part::kExpertUp, "mlp.experts.{e}.up_proj"},
    {Part::kExpertDown, "mlp.experts.{e}.down_proj"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
};

// modeling_minimax.py: lightning attention, one fused projection, a norm and a gate.
constexpr NamedPart kMiniMaxParts[] = {
    {Part::kMixer, "self_attn"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kRouter, "block_sparse_moe.gate"},
    {Part::kExpertGate, "block_sparse_moe.experts.{e}.w1"},
    {Part::kExpertDown, "block_sparse_moe.experts.{e}.w2"},
    {Part::kExpertUp, "block_sparse_moe.experts.{e}.w3"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// Hunyuan's files state one number a layer for what its class takes once: the first one then.
std::int64_t FirstOr(const ConfigView& config, std::string_view key, std::int64_t fallback) {
  const Node* node = config.Find({key});
  if (node == nullptr || node->kind != NodeKind::kArray) return config.SizeOr({key}, fallback);
  const bool is_size = !node->items.empty() && node->items.front().kind == NodeKind::kInt &&
                       node->items.front().integer > 0 &&
                       node->items.front().integer <= kMaxDimension;
  if (is_size) return node->items.front().integer;
  config.Reject({key}, "wrong-type", "a list here must hold whole numbers above 0, one a layer");
  return fallback;
}

// From moe_layer_start_index to moe_layer_end_index (-1: the last), every moe_layer_interval-th.
std::vector<bool> ReadErnieSparse(const ConfigView& config, std::int64_t layers) {
  const std::int64_t first = config.CountOr({"moe_layer_start_index"}, 1);
  const bool to_end = config.NumberOr({"moe_layer_end_index"}, -1) < 0;
  const std::int64_t last = to_end ? layers - 1 : config.CountOr({"moe_layer_end_index"}, layers);
  const std::int64_t interval = config.SizeOr({"moe_layer_interval"}, 1);
  std::vector<bool> sparse(static_cast<std::size_t>(layers));
  for (std::int64_t l = first; l < layers && l <= last; ++l) {
    sparse[static_cast<std::size_t>(l)] = (l + 1) % interval == 0;
  }
  return sparse;
}

}  // namespace

void BuildErnie45Moe(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  const bool bias = config.FlagOr({"use_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = bias;
  plan.layer.router_is_linear = false;
  ExpertSizes experts = ReadExperts(config, {.experts = 64, .per_token = 6, .width = 1536});
  experts.shared_width = Product(experts.width, config.CountOr({"moe_num_shared_experts"}, 2));
  LayerPlan sparse = WithExperts(plan.layer, experts, kErnieMoeParts);
  TensorList(&sparse.mixer)
      .Parameter("mlp.moe_statics.e_score_correction_bias", {1, experts.experts}, Part::kOther)
      .trainable = false;
  ApplySparsity(&plan, ReadErnieSparse(config, plan.sizes.layers), plan.layer, sparse);
  FinishDecoder(context, std::move(plan));
}

void BuildHunyuanMoe(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  // HunYuanMoEV1MLP takes intermediate_size, for the experts and for the one that is shared.
  ExpertSizes experts = {.experts = FirstOr(config, "num_experts", 1),
                         .per_token = FirstOr(config, "moe_topk", 1),
                         .width = plan.sizes.intermediate,
                         .shared_width = plan.sizes.intermediate};
  CheckExperts(config, experts);
  plan.layer = WithExperts(plan.layer, experts, kHunyuanMoeParts);
  FinishDecoder(context, std::move(plan));
}

void BuildFlexOlmo(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.pre_norms = false;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.attention.qk_norm_full_width = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 7, .per_token = 5, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kFlexOlmoParts);
  FinishDecoder(context, std::move(plan));
}

void BuildMiniMax(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanLlama(context);
  const ExpertSizes experts =
      ReadExperts(config, {.experts = 8, .per_token = 2, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kMiniMaxParts);
  LayerPlan linear = plan.layer;
  const std::int64_t hidden = plan.sizes.hidden;
  const std::int64_t inner = Product(plan.sizes.heads, plan.sizes.head_dim);
  linear.kind.attention = {.kind = spec::AttentionKind::kNone,
                           .heads = plan.sizes.heads,
                           .head_dim = plan.sizes.head_dim,
                           .inner_size = inner};
  TensorList list(&linear.mixer);
  list.Norm("self_attn.norm", inner, spec::NormKind::kRms, false, Part::kMixer);
  list.Linear("self_attn.qkv_proj", hidden, Product(3, inner), Part::kMixer);
  list.Linear("self_attn.out_proj", inner, hidden, Part::kMixer);
  list.Linear("self_attn.output_gate", hidden, inner, Part::kMixer);
  // MiniMaxConfig: every second layer is linear, from the second on, unless layer_types says so.
  std::vector<bool> is_linear(static_cast<std::size_t>(plan.sizes.layers));
  for (std::size_t l = 1; l < is_linear.size(); l += 2) is_linear[l] = true;
  is_linear = ReadLayerTypes(config, {"linear_attention"}, is_linear);
  ApplySparsity(&plan, is_linear, plan.layer, linear);
  context.spec.not_simulated = "lightning attention";
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
