// Gemma 4: layers with wider heads every sixth time, keys shared between layers, an embedding of
// its own for every layer, and experts beside the MLP in some sizes.
#include <algorithm>
#include <charconv>
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/experts.h"
#include "readers/models/vision_towers.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::NormKind;
using spec::Part;

constexpr NamedPart kParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
    {Part::kMixer, "per_layer_input"},
};
constexpr NamedPart kExpertParts[] = {
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
    {Part::kMixer, "per_layer_input, router"},
    {Part::kRouter, "router.proj"},
    {Part::kExpertGateUp, "experts.gate_up_proj"},
    {Part::kExpertDown, "experts.down_proj"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm_1"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm_2"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm_2"},
};

// What differs between layers.
struct Variant {
  std::int64_t window = 0;
  bool shares_keys = false;  // uses keys and values of an earlier layer
  std::int64_t head_dim = 1;
  std::int64_t kv_heads = 1;
  auto operator<=>(const Variant&) const = default;
};

// A gate, a projection and a norm for the layer's own embedding; scales of the router.
void AddLayerInput(std::int64_t hidden, std::int64_t width, std::int64_t experts,
                   LayerPlan* layer) {
  TensorList list(&layer->mixer);
  if (width > 0) {
    list.Linear("per_layer_input_gate", hidden, width, Part::kMixer);
    list.Linear("per_layer_projection", width, hidden, Part::kMixer);
    list.Norm("post_per_layer_input_norm", hidden, NormKind::kRms, false, Part::kMixer);
  }
  if (experts > 0) {
    list.Parameter("router.scale", {hidden}, Part::kMixer);
    list.Parameter("router.per_expert_scale", {experts}, Part::kMixer);
  }
}

void AddModelInput(const ConfigView& config, std::int64_t width, DecoderPlan* plan) {
  if (width == 0) return;
  const std::int64_t all = Product(plan->sizes.layers, width);
  const std::int64_t rows = config.SizeOr({"vocab_size_per_layer_input"}, 262144);
  TensorList list(&plan->extra);
  list.Embedding("embed_tokens_per_layer", rows, all, Part::kTokenEmbedding);
  list.Linear("per_layer_model_projection", plan->sizes.hidden, all, Part::kOther);
  list.Norm("per_layer_projection_norm", width, NormKind::kRms, false, Part::kOther);
}

// Heads of the layers that see everything: per_layer_config as transformers 5 writes it, by the
// number of the layer, or the keys of the published files.
void ReadGlobalHeads(const ConfigView& config, const DecoderSizes& sizes,
                     std::vector<Variant>* variants) {
  const bool keys_are_values = config.FlagOr({"attention_k_eq_v"}, false);
  if (config.Has("per_layer_config")) {
    const ConfigView layers = config.Section("per_layer_config");
    for (const config::Member& member : layers.Members()) {
      std::size_t l = 0;
      const char* end = member.key.data() + member.key.size();
      if (std::from_chars(member.key.data(), end, l).ptr != end || l >= variants->size()) continue;
      const ConfigView layer = layers.Section(member.key);
      (*variants)[l].head_dim = layer.SizeOr({"head_dim"}, sizes.head_dim);
      (*variants)[l].kv_heads = layer.SizeOr({"num_key_value_heads"}, sizes.kv_heads);
    }
    return;
  }
  const std::int64_t head_dim = config.SizeOr({"global_head_dim"}, 512);
  const std::int64_t kv_heads = keys_are_values
                                    ? config.SizeOr({"num_global_key_value_heads"}, sizes.kv_heads)
                                    : sizes.kv_heads;
  for (Variant& variant : *variants) {
    if (variant.window > 0) continue;
    variant.head_dim = head_dim;
    variant.kv_heads = kv_heads;
  }
}

std::vector<Variant> ReadVariants(const ConfigView& config, const DecoderSizes& sizes) {
  std::vector<std::int64_t> windows =
      ReadWindows(config, sizes.layers, config.CountOr({"sliding_window"}, 512),
                  [](std::int64_t l) { return (l + 1) % 6 != 0; });
  windows.back() = 0;  // Gemma4TextConfig forces the last layer to see everything
  const std::int64_t first_shared =
      sizes.layers - std::min(sizes.layers, config.CountOr({"num_kv_shared_layers"}, 0));
  std::vector<Variant> variants;
  variants.reserve(windows.size());
  for (const std::int64_t window : windows) {
    variants.push_back({.window = window,
                        .shares_keys = std::cmp_greater_equal(variants.size(), first_shared),
                        .head_dim = sizes.head_dim,
                        .kv_heads = sizes.kv_heads});
  }
  ReadGlobalHeads(config, sizes, &variants);
  for (const Variant& variant : variants) {
    if (sizes.heads % variant.kv_heads == 0) continue;
    config.RequireMultiple({"num_global_key_value_heads", "per_layer_config"}, sizes.heads,
                           variant.kv_heads,
                           "the number of attention heads must be a multiple of the number of "
                           "key/value heads");
    break;
  }
  return variants;
}

void VaryLayers(const ConfigView& config, DecoderPlan* plan) {
  const std::vector<Variant> variants = ReadVariants(config, plan->sizes);
  const bool keys_are_values = config.FlagOr({"attention_k_eq_v"}, false);
  const bool double_wide = config.FlagOr({"use_double_wide_mlp"}, false);
  const auto key = [&](std::int64_t l) { return variants[static_cast<std::size_t>(l)]; };
  plan->Vary(key, [&](std::int64_t l) {
    const Variant variant = key(l);
    LayerPlan layer = plan->layer;
    spec::Attention& attention = layer.kind.attention;
    attention.window = variant.window;
    attention.head_dim = attention.value_head_dim = variant.head_dim;
    attention.kv_heads = variant.kv_heads;
    // A quarter of the wide heads is rotated, all of the others.
    attention.rotary_dim = variant.window == 0 ? variant.head_dim / 4 : variant.head_dim;
    layer.has_value = !keys_are_values || variant.window > 0;
    layer.has_key = !variant.shares_keys;
    if (double_wide && variant.shares_keys) {
      std::int64_t& width = layer.dense_width > 0 ? layer.dense_width : layer.kind.mlp.intermediate;
      width *= 2;
    }
    return layer;
  });
}

}  // namespace

void BuildGemma4Text(ReadContext& context) {
  const ConfigView& config = context.text;
  DecoderPlan plan = PlanDecoder(context);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.parts = kParts;
  plan.layer.kind.post_norms = true;
  plan.layer.kind.attention.qk_norm = true;
  plan.layer.kind.mlp.activation =
      ReadActivation(config, {"hidden_activation"}, Activation::kGeluTanh);
  const std::int64_t width = config.CountOr({"hidden_size_per_layer_input"}, 256);
  std::int64_t expert_count = 0;
  if (config.FlagOr({"enable_moe_block"}, false)) {
    const ExpertSizes experts = ReadExperts(config, {});
    expert_count = experts.experts;
    plan.layer = WithExperts(plan.layer, experts, kExpertParts);
    plan.layer.fused_experts = true;
    plan.layer.dense_width = plan.sizes.intermediate;
    context.spec.not_simulated = "experts beside a dense MLP";
  }
  AddLayerInput(plan.sizes.hidden, width, expert_count, &plan.layer);
  AddModelInput(config, width, &plan);
  if (width > 0) context.spec.not_simulated = "an embedding for every layer";
  if (config.CountOr({"num_kv_shared_layers"}, 0) > 0) {
    context.spec.not_simulated = "keys and values shared between layers";
  }
  if (config.FlagOr({"attention_k_eq_v"}, false)) {
    context.spec.not_simulated = "keys that serve as values";
  }
  VaryLayers(config, &plan);
  FinishDecoder(context, std::move(plan));
}

}  // namespace trainfit::readers
