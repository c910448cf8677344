#include "readers/models/builders.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::Part;

// modeling_gemma2.py, modeling_gemma3.py: a norm before and after both sub-layers.
constexpr NamedPart kGemma2Parts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
};

// modeling_vaultgemma.py: Gemma 2 without the norms behind the sub-layers.
constexpr NamedPart kVaultParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
};

DecoderPlan PlanGemma(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  // GemmaConfig calls the tanh form "gelu" in hidden_act; hidden_activation, where given, wins.
  if (!context.text.Has("hidden_activation")) {
    plan.layer.kind.mlp.activation = Activation::kGeluTanh;
  }
  return plan;
}

}  // namespace

void BuildGemma(ReadContext& context) { FinishDecoder(context, PlanGemma(context)); }

namespace {

void FinishGemma2(ReadContext& context, DecoderPlan plan) {
  plan.layer.kind.attention.logit_softcap =
      context.text.NumberOr({"attn_logit_softcapping"}, 50.0) > 0;
  const std::int64_t window = context.text.CountOr({"sliding_window"}, 4096);
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t l) { return l % 2 == 0; }));
  FinishDecoder(context, std::move(plan));
}

}  // namespace

void BuildGemma2(ReadContext& context) {
  DecoderPlan plan = PlanGemma(context);
  plan.layer.parts = kGemma2Parts;
  plan.layer.kind.post_norms = true;
  FinishGemma2(context, std::move(plan));
}

void BuildVaultGemma(ReadContext& context) {
  DecoderPlan plan = PlanGemma(context);
  plan.layer.parts = kVaultParts;
  FinishGemma2(context, std::move(plan));
}

void BuildGemma3Text(ReadContext& context) {
  DecoderPlan plan = PlanGemma(context);
  plan.layer.parts = kGemma2Parts;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.attention.logit_softcap =
      context.text.NumberOr({"attn_logit_softcapping"}, 0.0) > 0;
  const std::int64_t window = context.text.CountOr({"sliding_window"}, 4096);
  const std::int64_t pattern = context.text.SizeOr({"sliding_window_pattern"}, 6);
  // configuration_gemma3.py: every pattern-th layer sees everything.
  std::vector<std::int64_t> windows =
      ReadWindows(context.text, plan.sizes.layers, window, [](std::int64_t) { return true; });
  if (!context.text.Has("layer_types")) {
    for (std::int64_t l = pattern - 1; l < plan.sizes.layers; l += pattern) {
      windows[static_cast<std::size_t>(l)] = 0;
    }
  }
  ApplyWindows(&plan, windows);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
