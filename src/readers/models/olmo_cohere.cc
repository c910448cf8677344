#include "readers/models/builders.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::NormKind;
using spec::Part;

// modeling_olmo2.py: norms after the sub-layers only.
constexpr NamedPart kOlmo2Parts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
};

// modeling_cohere.py: one norm feeds attention and MLP.
constexpr NamedPart kCohereParts[] = {
    {Part::kQuery, "self_attn.q_proj"},     {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},     {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"}, {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kGate, "mlp.gate_proj"},         {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},         {Part::kInputNorm, "input_layernorm"},
};

DecoderPlan PlanWithAttentionBias(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  return plan;
}

}  // namespace

void BuildOlmo(ReadContext& context) {
  DecoderPlan plan = PlanWithAttentionBias(context);
  // OlmoLayerNorm has neither weight nor bias.
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.kind.norm_has_weight = false;
  FinishDecoder(context, std::move(plan));
}

void BuildOlmo2(ReadContext& context) {
  DecoderPlan plan = PlanWithAttentionBias(context);
  plan.layer.parts = kOlmo2Parts;
  plan.layer.kind.pre_norms = false;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.attention.qk_norm_full_width = true;
  // OLMo-3 is OLMo-2 with a window in three of four layers (configuration_olmo3.py).
  const std::int64_t window =
      context.text_type == "olmo3" ? context.text.CountOr({"sliding_window"}, 4096) : 0;
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t l) { return (l + 1) % 4 != 0; }));
  FinishDecoder(context, std::move(plan));
}

void BuildCohere(ReadContext& context) {
  DecoderPlan plan = PlanWithAttentionBias(context);
  plan.layer.parts = kCohereParts;
  plan.layer.kind.parallel = true;
  plan.layer.kind.norm = NormKind::kLayerNorm;  // CohereLayerNorm: a weight, no bias
  plan.layer.qk_norm_kind = NormKind::kLayerNorm;
  plan.layer.qk_norm_per_head_weights = true;
  plan.layer.kind.attention.qk_norm = context.text.FlagOr({"use_qk_norm"}, false);
  // Cohere2: three windowed layers, then one without rotary positions that sees everything.
  const std::int64_t window =
      context.text_type == "cohere2" ? context.text.CountOr({"sliding_window"}, 4096) : 0;
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t l) { return (l + 1) % 4 != 0; }));
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
