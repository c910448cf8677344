// InternViT as transformers' internvl has it.
#include <utility>

#include "readers/decoder_plan.h"
#include "readers/models/encoder_layer.h"
#include "readers/models/vision_towers.h"

namespace trainfit::readers {
namespace {

using spec::NormKind;
using spec::Part;

// modeling_internvl.py, InternVLVisionLayer: the scales are the layer's own parameters.
constexpr NamedPart kParts[] = {
    {Part::kMixer, "lambda_1, lambda_2"},
    {Part::kQuery, "attention.q_proj"},
    {Part::kKey, "attention.k_proj"},
    {Part::kValue, "attention.v_proj"},
    {Part::kOutput, "attention.projection_layer"},
    {Part::kQueryNorm, "attention.q_norm"},
    {Part::kKeyNorm, "attention.k_norm"},
    {Part::kUp, "mlp.fc1"},
    {Part::kDown, "mlp.fc2"},
    {Part::kInputNorm, "layernorm_before"},
    {Part::kPreMlpNorm, "layernorm_after"},
};

// One number, or height and width.
std::pair<std::int64_t, std::int64_t> ReadPair(const ConfigView& config, std::string_view key,
                                               std::int64_t fallback) {
  const config::Node* node = config.Find({key});
  if (node == nullptr || node->kind != config::NodeKind::kArray) {
    const std::int64_t size = config.SizeOr({key}, fallback);
    return {size, size};
  }
  const auto is_size = [](const config::Node& item) {
    return item.kind == config::NodeKind::kInt && item.integer > 0 && item.integer <= kMaxDimension;
  };
  if (node->items.size() == 2 && is_size(node->items[0]) && is_size(node->items[1])) {
    return {node->items[0].integer, node->items[1].integer};
  }
  config.Reject({key}, "wrong-type", "one whole number above 0, or two in a list");
  return {fallback, fallback};
}

}  // namespace

spec::Stack InternVlVision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 1024, .heads = 16, .intermediate = 4096, .layers = 24});
  LayerPlan layer = PlanEncoderLayer(sizes, kParts);
  layer.SetAttentionBias(config.FlagOr({"attention_bias"}, false), true);
  layer.kind.attention.qk_norm = config.FlagOr({"use_qk_norm"}, false);
  layer.kind.attention.qk_norm_full_width = true;
  if (config.TextOr({"norm_type"}, "layer_norm") == "rms_norm") {
    layer.kind.norm = NormKind::kRms;
    layer.norm_bias = false;
  }
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, spec::Activation::kGelu);
  TensorList scales(&layer.mixer);
  scales.Parameter("lambda_1", {sizes.hidden}, Part::kMixer);
  scales.Parameter("lambda_2", {sizes.hidden}, Part::kMixer);
  spec::Stack stack =
      EqualLayers(spec::StackRole::kVision, base + "encoder.layer.{l}.", layer, sizes.layers);

  const auto [height, width] = ReadPair(config, "image_size", 448);
  const auto [patch_height, patch_width] = ReadPair(config, "patch_size", 14);
  const std::int64_t patches = Product(height / patch_height, width / patch_width);
  const std::int64_t hidden = sizes.hidden;
  TensorList before(&stack.before);
  before.Parameter(base + "embeddings.cls_token", {1, 1, hidden}, Part::kPatchEmbedding);
  if (config.FlagOr({"use_mask_token"}, false)) {
    before.Parameter(base + "embeddings.mask_token", {1, 1, hidden}, Part::kPatchEmbedding);
  }
  if (config.FlagOr({"use_absolute_position_embeddings"}, true)) {
    before.Parameter(base + "embeddings.position_embeddings", {1, patches + 1, hidden},
                     Part::kPositionEmbedding);
  }
  before.Convolution(base + "embeddings.patch_embeddings.projection",
                     {hidden, config.SizeOr({"num_channels"}, 3), patch_height, patch_width}, true,
                     Part::kPatchEmbedding);
  stack.final_norm = NormKind::kNone;
  if (!config.FlagOr({"use_mean_pooling"}, true)) {
    stack.final_norm = NormKind::kLayerNorm;
    TensorList(&stack.after)
        .Norm(base + "layernorm", hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  }
  return stack;
}

}  // namespace trainfit::readers
