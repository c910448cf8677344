// Dense decoders that differ from Llama in a detail or two.
#include <algorithm>
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/llama_like.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::MlpKind;
using spec::Part;

// modeling_exaone4.py: norms behind the sub-layers, as OLMo-2, and a norm for every head.
constexpr NamedPart kExaone4Parts[] = {
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

constexpr NamedPart kHunyuanParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.query_layernorm"},
    {Part::kKeyNorm, "self_attn.key_layernorm"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_apertus.py: an activation (xIELU) with two trained scalars.
constexpr NamedPart kApertusParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kMixer, "mlp.act_fn"},
    {Part::kInputNorm, "attention_layernorm"},
    {Part::kPreMlpNorm, "feedforward_layernorm"},
};

// modeling_bitnet.py: a norm inside each sub-layer.
constexpr NamedPart kBitNetParts[] = {
    {Part::kQuery, "self_attn.q_proj"},    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},        {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},        {Part::kMixer, "norms inside the sub-layers"},
    {Part::kInputNorm, "input_layernorm"}, {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// modeling_mimo.py (published with the models): a whole layer that predicts one token further, with
// three norms and a projection around it. Stored, and not run in training.
void AddMimoPredictors(std::int64_t count, DecoderPlan* plan) {
  const std::int64_t hidden = plan->sizes.hidden;
  std::vector<spec::TensorSpec> tensors;
  TensorList list(&tensors);
  for (const char* norm : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
    list.Norm(norm, hidden, spec::NormKind::kRms, false, Part::kOther);
  }
  list.Linear("input_proj", 2 * hidden, hidden, Part::kOther);
  for (spec::TensorSpec& tensor : EmitLayer(plan->layer).tensors) tensors.push_back(tensor);
  for (spec::TensorSpec& tensor : tensors) {
    tensor.name = "mtp_layers.{e}." + tensor.name;
    tensor.part = Part::kOther;
    tensor.copies = count;
    plan->extra.push_back(tensor);
  }
}

DecoderPlan PlanWithBiases(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = context.text.FlagOr({"mlp_bias"}, false);
  return plan;
}

}  // namespace

void BuildExaone4(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.parts = kExaone4Parts;
  plan.layer.kind.pre_norms = false;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  // Null in the small models: every layer sees everything.
  const std::int64_t window =
      context.text.IsNull("sliding_window") ? 0 : context.text.CountOr({"sliding_window"}, 4096);
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t l) { return (l + 1) % 4 != 0; }));
  FinishDecoder(context, std::move(plan));
}

void BuildErnie45(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const bool bias = context.text.FlagOr({"use_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = bias;
  FinishDecoder(context, std::move(plan));
}

void BuildHunyuanDense(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.parts = kHunyuanParts;
  plan.layer.mlp_bias = false;
  plan.layer.kind.attention.qk_norm = true;
  FinishDecoder(context, std::move(plan));
}

void BuildSeedOss(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.SetAttentionBias(context.text.FlagOr({"attention_bias"}, true),
                              context.text.FlagOr({"attention_out_bias"}, false));
  plan.dropout = context.text.NumberOr({"residual_dropout"}, 0.1);
  FinishDecoder(context, std::move(plan));
}

void BuildHelium(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.output_bias = false;
  FinishDecoder(context, std::move(plan));
}

void BuildArcee(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.kind.mlp.kind = MlpKind::kPlain;
  plan.layer.kind.mlp.activation = ReadActivation(context.text, {"hidden_act"}, Activation::kRelu2);
  FinishDecoder(context, std::move(plan));
}

void BuildApertus(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.parts = kApertusParts;
  plan.layer.mlp_bias = false;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.mlp.kind = MlpKind::kPlain;
  plan.layer.kind.mlp.activation = Activation::kOther;
  TensorList scalars(&plan.layer.mixer);
  scalars.Parameter("mlp.act_fn.alpha_p", {1}, Part::kMixer);
  scalars.Parameter("mlp.act_fn.alpha_n", {1}, Part::kMixer);
  FinishDecoder(context, std::move(plan));
}

void BuildMinistral(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  const std::int64_t window =
      context.text.IsNull("sliding_window") ? 0 : context.text.CountOr({"sliding_window"}, 4096);
  ApplyWindows(&plan, ReadWindows(context.text, plan.sizes.layers, window,
                                  [](std::int64_t) { return true; }));
  FinishDecoder(context, std::move(plan));
}

void BuildMinistral3(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.kind.attention.window = context.text.CountOr({"sliding_window"}, 0);
  FinishDecoder(context, std::move(plan));
}

void BuildBitNet(ReadContext& context) {
  DecoderPlan plan = PlanWithBiases(context);
  plan.layer.parts = kBitNetParts;
  plan.layer.mlp_bias = false;
  plan.layer.kind.mlp.activation = ReadActivation(context.text, {"hidden_act"}, Activation::kRelu2);
  TensorList norms(&plan.layer.mixer);
  norms.Norm("self_attn.attn_sub_norm", plan.sizes.hidden, spec::NormKind::kRms, false,
             Part::kMixer);
  norms.Norm("mlp.ffn_sub_norm", plan.sizes.intermediate, spec::NormKind::kRms, false,
             Part::kMixer);
  context.spec.not_simulated = "norms inside the sub-layers";
  FinishDecoder(context, std::move(plan));
}

void BuildMimo(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  plan.layer.SetAttentionBias(context.text.FlagOr({"attention_bias"}, true), false);
  const std::int64_t predictors = context.text.CountOr({"num_nextn_predict_layers"}, 0);
  if (predictors > 0) AddMimoPredictors(std::min(predictors, kMaxLayers), &plan);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
