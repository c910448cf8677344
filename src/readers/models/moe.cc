#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::NormKind;
using spec::Part;

// modeling_mixtral.py: w1 gate, w3 up, w2 down.
constexpr NamedPart kMixtralParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kRouter, "block_sparse_moe.gate"},
    {Part::kExpertGate, "block_sparse_moe.experts.{e}.w1"},
    {Part::kExpertDown, "block_sparse_moe.experts.{e}.w2"},
    {Part::kExpertUp, "block_sparse_moe.experts.{e}.w3"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_minimax_m2.py: Mixtral's layer with a correction bias at the router.
constexpr NamedPart kMiniMaxM2Parts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kRouter, "block_sparse_moe.gate"},
    {Part::kExpertGate, "block_sparse_moe.experts.{e}.w1"},
    {Part::kExpertDown, "block_sparse_moe.experts.{e}.w2"},
    {Part::kExpertUp, "block_sparse_moe.experts.{e}.w3"},
    {Part::kOther, "block_sparse_moe.e_score_correction_bias"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_qwen2_moe.py, modeling_qwen3_moe.py, modeling_olmoe.py.
constexpr NamedPart kQwenMoeParts[] = {
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
    {Part::kSharedGate, "mlp.shared_expert.gate_proj"},
    {Part::kSharedUp, "mlp.shared_expert.up_proj"},
    {Part::kSharedDown, "mlp.shared_expert.down_proj"},
    {Part::kSharedRouterGate, "mlp.shared_expert_gate"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

}  // namespace

void BuildMixtral(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.kind.attention.window = context.text.CountOr({"sliding_window"}, 0);
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 8, .per_token = 2, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kMixtralParts);
  FinishDecoder(context, std::move(plan));
}

void BuildPhiMoe(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  plan.layer.kind.attention.window = context.text.CountOr({"sliding_window"}, 0);
  plan.head_bias = context.text.FlagOr({"lm_head_bias"}, false);
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 16, .per_token = 2, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kMixtralParts);
  FinishDecoder(context, std::move(plan));
}

void BuildMiniMaxM2(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.kind.attention.qk_norm = context.text.FlagOr({"use_qk_norm"}, true);
  plan.layer.kind.attention.qk_norm_full_width = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 256, .per_token = 8, .width = plan.sizes.intermediate});
  const bool correction = context.text.FlagOr({"use_routing_bias"}, true);
  plan.layer = WithExperts(plan.layer, experts,
                           correction ? std::span<const NamedPart>(kMiniMaxM2Parts)
                                      : std::span<const NamedPart>(kMixtralParts));
  FinishDecoder(context, std::move(plan));
}

void BuildOlmoe(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.attention.qk_norm_full_width = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 64, .per_token = 8, .width = plan.sizes.intermediate});
  plan.layer = WithExperts(plan.layer, experts, kQwenMoeParts);
  FinishDecoder(context, std::move(plan));
}

void BuildQwen2Moe(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.SetAttentionBias(context.text.FlagOr({"qkv_bias"}, true), false);
  ExpertSizes experts = ReadExperts(context.text, {.experts = 60, .per_token = 4, .width = 1408});
  experts.shared_width = context.text.SizeOr({"shared_expert_intermediate_size"}, 5632);
  ApplySparsity(&plan, ReadSparseSteps(context.text, plan.sizes.layers), plan.layer,
                WithExperts(plan.layer, experts, kQwenMoeParts));
  FinishDecoder(context, std::move(plan));
}

void BuildQwen3Moe(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  const ExpertSizes experts =
      ReadExperts(context.text, {.experts = 128, .per_token = 8, .width = 768});
  ApplySparsity(&plan, ReadSparseSteps(context.text, plan.sizes.layers), plan.layer,
                WithExperts(plan.layer, experts, kQwenMoeParts));
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
