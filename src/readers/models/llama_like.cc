#include "readers/models/llama_like.h"

#include <iterator>
#include <utility>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;

constexpr NamedPart kLlamaParts[] = {
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
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_phi3.py: o_proj is registered before the fused projection.
constexpr NamedPart kPhi3Parts[] = {
    {Part::kOutput, "self_attn.o_proj"},   {Part::kQueryKeyValue, "self_attn.qkv_proj"},
    {Part::kGateUp, "mlp.gate_up_proj"},   {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"}, {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_glm.py, modeling_glm4.py: Phi-3's MLP, two more norms in GLM-4.
constexpr NamedPart kGlmParts[] = {
    {Part::kQuery, "self_attn.q_proj"},    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGateUp, "mlp.gate_up_proj"},   {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"}, {Part::kPreMlpNorm, "post_attention_layernorm"},
};
constexpr NamedPart kGlm4Parts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGateUp, "mlp.gate_up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
    {Part::kPostAttentionNorm, "post_self_attn_layernorm"},
    {Part::kPostMlpNorm, "post_mlp_layernorm"},
};

constexpr NamedPart kStarcoder2Parts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kUp, "mlp.c_fc"},
    {Part::kDown, "mlp.c_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_stablelm.py: a LayerNorm module for every head; one norm less when both sub-layers read
// the same input.
constexpr NamedPart kStableLmParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_layernorm.norms.{e}"},
    {Part::kKeyNorm, "self_attn.k_layernorm.norms.{e}"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

}  // namespace

const std::span<const NamedPart> kLlamaLayer = kLlamaParts;

DecoderPlan PlanLlama(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.parts = kLlamaLayer;
  return plan;
}

void ApplyWindows(DecoderPlan* plan, const std::vector<std::int64_t>& windows) {
  const auto window_of = [&](std::int64_t l) { return windows[static_cast<std::size_t>(l)]; };
  plan->Vary(window_of, [&](std::int64_t l) {
    LayerPlan layer = plan->layer;
    layer.kind.attention.window = window_of(l);
    return layer;
  });
}

std::vector<std::int64_t> ReadQwenWindows(const ConfigView& config, std::int64_t layers) {
  // configuration_qwen2.py: the window counts from layer max_window_layers on.
  const bool in_use = config.FlagOr({"use_sliding_window"}, false);
  const std::int64_t window = in_use ? config.CountOr({"sliding_window"}, 4096) : 0;
  std::vector<std::int64_t> windows =
      ReadWindows(config, layers, window, [](std::int64_t) { return true; });
  if (config.Has("layer_types")) return windows;
  const std::int64_t first = config.CountOr({"max_window_layers"}, 28);
  for (std::int64_t l = 0; l < layers && l < first; ++l) windows[static_cast<std::size_t>(l)] = 0;
  return windows;
}

void BuildLlama(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = context.text.FlagOr({"mlp_bias"}, false);
  FinishDecoder(context, std::move(plan));
}

void BuildMistral(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  // MistralConfig: 4096 when the key is absent, none when it is null, as files since v0.2 say.
  plan.layer.kind.attention.window =
      context.text.IsNull("sliding_window") ? 0 : context.text.CountOr({"sliding_window"}, 4096);
  FinishDecoder(context, std::move(plan));
}

void BuildQwen2(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.SetAttentionBias(true, false);
  ApplyWindows(&plan, ReadQwenWindows(context.text, plan.sizes.layers));
  FinishDecoder(context, std::move(plan));
}

void BuildQwen3(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.kind.attention.qk_norm = true;
  ApplyWindows(&plan, ReadQwenWindows(context.text, plan.sizes.layers));
  FinishDecoder(context, std::move(plan));
}

void BuildSmolLm3(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = context.text.FlagOr({"mlp_bias"}, false);
  FinishDecoder(context, std::move(plan));
}

void BuildInternLm(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"bias"}, true);
  plan.layer.SetAttentionBias(bias, bias);
  FinishDecoder(context, std::move(plan));
}

void BuildGlm(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.parts = kGlmParts;
  plan.layer.kind.fused_gate_up_storage = true;
  plan.layer.SetAttentionBias(context.text.FlagOr({"attention_bias"}, true), false);
  FinishDecoder(context, std::move(plan));
}

void BuildGlm4(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.parts = kGlm4Parts;
  plan.layer.kind.fused_gate_up_storage = true;
  plan.layer.kind.post_norms = true;
  plan.layer.SetAttentionBias(context.text.FlagOr({"attention_bias"}, true), false);
  FinishDecoder(context, std::move(plan));
}

void BuildPhi3(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.parts = kPhi3Parts;
  plan.layer.kind.fused_gate_up_storage = true;
  plan.layer.kind.attention.window = context.text.CountOr({"sliding_window"}, 0);
  FinishDecoder(context, std::move(plan));
}

void BuildStarcoder2(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  const bool bias = context.text.FlagOr({"use_bias"}, true);
  plan.layer.parts = kStarcoder2Parts;
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = bias;
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  plan.layer.kind.mlp.kind = MlpKind::kPlain;
  plan.layer.kind.mlp.activation =
      ReadActivation(context.text, {"hidden_act"}, Activation::kGeluTanh);
  plan.layer.kind.attention.window = context.text.CountOr({"sliding_window"}, 0);
  FinishDecoder(context, std::move(plan));
}

void BuildStableLm(ReadContext& context) {
  DecoderPlan plan = PlanDecoder(context);
  plan.layer.kind.parallel = context.text.FlagOr({"use_parallel_residual"}, false);
  plan.layer.parts = std::span<const NamedPart>(kStableLmParts);
  // The last part, the norm before the MLP.
  if (plan.layer.kind.parallel)
    plan.layer.parts = plan.layer.parts.first(std::size(kStableLmParts) - 1);
  plan.layer.kind.attention.qk_norm = context.text.FlagOr({"qk_layernorm"}, false);
  plan.layer.SetAttentionBias(context.text.FlagOr({"use_qkv_bias"}, false), false);
  plan.layer.kind.norm = NormKind::kLayerNorm;
  plan.layer.norm_bias = true;
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
