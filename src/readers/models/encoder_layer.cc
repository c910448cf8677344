#include "readers/models/encoder_layer.h"

#include <utility>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

EncoderSizes ReadEncoderSizes(const ConfigView& config, const EncoderSizes& defaults) {
  EncoderSizes sizes;
  sizes.hidden = config.Size({"hidden_size"}, defaults.hidden);
  sizes.heads = config.Size({"num_attention_heads"}, defaults.heads);
  sizes.intermediate = config.Size({"intermediate_size"}, defaults.intermediate);
  sizes.layers = config.Size({"num_hidden_layers"}, defaults.layers, kMaxLayers);
  config.RequireMultiple({"num_attention_heads"}, sizes.hidden, sizes.heads,
                         "the width must be a multiple of the number of attention heads");
  return sizes;
}

LayerPlan PlanEncoderLayer(const EncoderSizes& sizes, std::span<const NamedPart> parts) {
  LayerPlan layer;
  layer.parts = parts;
  layer.hidden = sizes.hidden;
  layer.SetAttentionBias(true, true);
  layer.mlp_bias = true;
  layer.norm_bias = true;
  layer.kind.norm = spec::NormKind::kLayerNorm;
  spec::Attention& attention = layer.kind.attention;
  attention.heads = attention.kv_heads = sizes.heads;
  attention.head_dim = attention.value_head_dim = sizes.hidden / sizes.heads;
  attention.causal = false;
  layer.kind.mlp = {.kind = spec::MlpKind::kPlain,
                    .activation = spec::Activation::kGelu,
                    .intermediate = sizes.intermediate};
  return layer;
}

spec::Stack EqualLayers(spec::StackRole role, std::string layer_prefix, const LayerPlan& layer,
                        std::int64_t layers) {
  spec::Stack stack;
  stack.role = role;
  stack.layer_prefix = std::move(layer_prefix);
  stack.hidden = layer.hidden;
  stack.positions = spec::Positions::kLearned;
  stack.final_norm = layer.kind.norm;
  stack.kinds.push_back(EmitLayer(layer));
  stack.runs.push_back({.kind = 0, .first = 0, .count = layers});
  return stack;
}

std::int64_t ReadLabels(const ConfigView& root) {
  const std::int64_t stated = root.CountOr({"num_labels"}, 0);
  if (stated > 0) return stated;
  const config::Node* names = root.Find({"id2label"});
  if (names == nullptr || names->members.empty()) return 2;
  return static_cast<std::int64_t>(names->members.size());
}

}  // namespace trainfit::readers
