// Gemma 3n: four parallel residual streams (AltUp), a low-rank branch beside attention (LAuReL), an
// embedding of its own for every layer, keys and values of earlier layers in the last ones.
#include <algorithm>
#include <tuple>
#include <utility>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::Activation;
using spec::NormKind;
using spec::Part;

// modeling_gemma3n.py of transformers 5: layers without keys of their own have no such modules.
constexpr NamedPart kParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
    {Part::kMixer, "altup, laurel, per_layer_input"},
};

std::vector<spec::TensorSpec> LayerExtras(const ConfigView& config, std::int64_t hidden,
                                          std::int64_t streams, std::int64_t width) {
  std::vector<spec::TensorSpec> tensors;
  TensorList list(&tensors);
  if (config.FlagOr({"altup_correct_scale"}, true)) {
    list.Parameter("altup.correct_output_scale", {hidden}, Part::kMixer);
  }
  list.Linear("altup.correction_coefs", streams, streams, Part::kMixer);
  list.Linear("altup.prediction_coefs", streams, streams * streams, Part::kMixer);
  list.Linear("altup.modality_router", hidden, streams, Part::kMixer);
  list.Norm("altup.router_norm", hidden, NormKind::kRms, false, Part::kMixer);
  const std::int64_t rank = config.SizeOr({"laurel_rank"}, 64);
  list.Linear("laurel.linear_left", hidden, rank, Part::kMixer);
  list.Linear("laurel.linear_right", rank, hidden, Part::kMixer);
  list.Norm("laurel.post_laurel_norm", hidden, NormKind::kRms, false, Part::kMixer);
  list.Linear("per_layer_input_gate", hidden, width, Part::kMixer);
  list.Linear("per_layer_projection", width, hidden, Part::kMixer);
  list.Norm("post_per_layer_input_norm", hidden, NormKind::kRms, false, Part::kMixer);
  return tensors;
}

void AddModelExtras(const ConfigView& config, std::int64_t streams, std::int64_t width,
                    DecoderPlan* plan) {
  const std::int64_t hidden = plan->sizes.hidden;
  const std::int64_t all = Product(plan->sizes.layers, width);
  TensorList list(&plan->extra);
  list.Embedding("embed_tokens_per_layer", config.SizeOr({"vocab_size_per_layer_input"}, 262144),
                 all, Part::kTokenEmbedding);
  list.Linear("per_layer_model_projection", hidden, all, Part::kOther);
  list.Norm("per_layer_projection_norm", width, NormKind::kRms, false, Part::kOther);
  for (const char* module : {"altup_projections.{e}", "altup_unembed_projections.{e}"}) {
    if (streams > 1) list.Linear(module, hidden, hidden, Part::kOther, false, streams - 1);
  }
}

// intermediate_size: one number, or one a layer.
std::vector<std::int64_t> ReadWidths(const ConfigView& config, std::int64_t layers) {
  const Node* node = config.Find(kIntermediateKeys);
  std::vector<std::int64_t> widths(static_cast<std::size_t>(layers), 16384);
  if (node == nullptr || node->kind != NodeKind::kArray) {
    std::ranges::fill(widths, config.SizeOr(kIntermediateKeys, 16384));
    return widths;
  }
  bool is_good = node->items.size() == widths.size();
  for (std::size_t l = 0; is_good && l < widths.size(); ++l) {
    const Node& item = node->items[l];
    is_good = item.kind == NodeKind::kInt && item.integer > 0 && item.integer <= kMaxDimension;
    if (is_good) widths[l] = item.integer;
  }
  if (!is_good) {
    config.Reject(kIntermediateKeys, "wrong-length",
                  "a list of intermediate sizes must have a number above 0 for every layer");
  }
  return widths;
}

}  // namespace

void BuildGemma3nText(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context, {.has_mlp = false});
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.parts = kParts;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.mlp.activation =
      ReadActivation(config, {"hidden_activation"}, Activation::kGeluTanh);
  const std::int64_t streams = std::min<std::int64_t>(config.SizeOr({"altup_num_inputs"}, 4), 64);
  const std::int64_t width = config.SizeOr({"hidden_size_per_layer_input"}, 256);
  plan.layer.mixer = LayerExtras(config, plan.sizes.hidden, streams, width);
  AddModelExtras(config, streams, width, &plan);
  const std::vector<std::int64_t> widths = ReadWidths(config, plan.sizes.layers);
  const std::vector<std::int64_t> windows =
      ReadWindows(config, plan.sizes.layers, config.CountOr({"sliding_window"}, 512),
                  [](std::int64_t l) { return (l + 1) % 5 != 0; });
  const std::int64_t first_shared =
      plan.sizes.layers - std::min(plan.sizes.layers, config.CountOr({"num_kv_shared_layers"}, 15));
  const auto key = [&](std::int64_t l) {
    const auto i = static_cast<std::size_t>(l);
    return std::tuple(widths[i], windows[i], l < first_shared);
  };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = plan.layer;
    layer.kind.mlp.intermediate = std::get<0>(key(l));
    layer.kind.attention.window = std::get<1>(key(l));
    layer.has_key = std::get<2>(key(l));
    return layer;
  });
  context.spec.not_simulated = "parallel residual streams (AltUp)";
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
