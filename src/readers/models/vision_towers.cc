#include "readers/models/vision_towers.h"

#include <fmt/format.h>

#include <utility>

#include "readers/decoder_plan.h"
#include "readers/models/encoder_layer.h"

namespace trainfit::readers {
namespace {

using config::Node;
using spec::Activation;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Positions;
using spec::Stack;
using spec::StackRole;

constexpr NamedPart kPixtralParts[] = {
    {Part::kInputNorm, "attention_norm"}, {Part::kGate, "feed_forward.gate_proj"},
    {Part::kUp, "feed_forward.up_proj"},  {Part::kDown, "feed_forward.down_proj"},
    {Part::kKey, "attention.k_proj"},     {Part::kValue, "attention.v_proj"},
    {Part::kQuery, "attention.q_proj"},   {Part::kOutput, "attention.o_proj"},
    {Part::kPreMlpNorm, "ffn_norm"},
};
constexpr NamedPart kQwen2Parts[] = {
    {Part::kInputNorm, "norm1"},  {Part::kPreMlpNorm, "norm2"}, {Part::kQueryKeyValue, "attn.qkv"},
    {Part::kOutput, "attn.proj"}, {Part::kUp, "mlp.fc1"},       {Part::kDown, "mlp.fc2"},
};
constexpr NamedPart kQwen25Parts[] = {
    {Part::kInputNorm, "norm1"},        {Part::kPreMlpNorm, "norm2"},
    {Part::kQueryKeyValue, "attn.qkv"}, {Part::kOutput, "attn.proj"},
    {Part::kGate, "mlp.gate_proj"},     {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
};
constexpr NamedPart kQwen3Parts[] = {
    {Part::kInputNorm, "norm1"},  {Part::kPreMlpNorm, "norm2"},  {Part::kQueryKeyValue, "attn.qkv"},
    {Part::kOutput, "attn.proj"}, {Part::kUp, "mlp.linear_fc1"}, {Part::kDown, "mlp.linear_fc2"},
};
constexpr NamedPart kGemma4Parts[] = {
    {Part::kQuery, "self_attn.q_proj.linear"},
    {Part::kKey, "self_attn.k_proj.linear"},
    {Part::kValue, "self_attn.v_proj.linear"},
    {Part::kOutput, "self_attn.o_proj.linear"},
    {Part::kQueryNorm, "self_attn.q_norm"},
    {Part::kKeyNorm, "self_attn.k_norm"},
    {Part::kGate, "mlp.gate_proj.linear"},
    {Part::kUp, "mlp.up_proj.linear"},
    {Part::kDown, "mlp.down_proj.linear"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPostAttentionNorm, "post_attention_layernorm"},
    {Part::kPreMlpNorm, "pre_feedforward_layernorm"},
    {Part::kPostMlpNorm, "post_feedforward_layernorm"},
};
// Llama 4 and Llama 3.2 Vision; the gates of the latter come first.
constexpr NamedPart kLlamaVisionParts[] = {
    {Part::kMixer, "gates"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kOutput, "self_attn.o_proj"},
    {Part::kUp, "mlp.fc1"},
    {Part::kDown, "mlp.fc2"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

EncoderSizes ReadQwenSizes(const ConfigView& config, Keys width_keys, std::int64_t width,
                           std::int64_t depth) {
  EncoderSizes sizes;
  sizes.hidden = config.Size(width_keys, width);
  sizes.heads = config.Size({"num_heads"}, 16);
  sizes.layers = config.Size({"depth"}, depth, kMaxLayers);
  config.RequireMultiple({"num_heads"}, sizes.hidden, sizes.heads,
                         "the width must be a multiple of the number of attention heads");
  return sizes;
}

void AddQwenPatches(const ConfigView& config, const std::string& base, std::int64_t width,
                    std::int64_t default_patch, bool bias, TensorList* before) {
  const std::int64_t patch = config.SizeOr({"patch_size"}, default_patch);
  before->Convolution(base + "patch_embed.proj",
                      {width, config.SizeOr({"in_channels", "in_chans"}, 3),
                       config.SizeOr({"temporal_patch_size"}, 2), patch, patch},
                      bias, Part::kPatchEmbedding);
}

// merger.ln_q, merger.mlp.0, merger.mlp.2 of Qwen2-VL and Qwen2.5-VL.
void AddQwen2Merger(const ConfigView& config, const std::string& base, const EncoderSizes& sizes,
                    NormKind norm, std::int64_t out, TensorList* after) {
  const std::int64_t merge = config.SizeOr({"spatial_merge_size"}, 2);
  const std::int64_t merged = Product(Product(merge, merge), sizes.hidden);
  after->Norm(base + "merger.ln_q", sizes.hidden, norm, true, Part::kProjector);
  after->Linear(base + "merger.mlp.0", merged, merged, Part::kProjector, true);
  after->Linear(base + "merger.mlp.2", merged, out, Part::kProjector, true);
}

}  // namespace

Stack PixtralVision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 1024, .heads = 16, .intermediate = 4096, .layers = 24});
  LayerPlan layer = PlanEncoderLayer(sizes, kPixtralParts);
  layer.SetAttentionBias(false, false);
  layer.mlp_bias = false;
  layer.kind.norm = NormKind::kRms;
  layer.kind.attention.rotary_dim = layer.kind.attention.head_dim;
  layer.kind.mlp.kind = MlpKind::kGated;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kGelu);
  Stack stack =
      EqualLayers(StackRole::kVision, base + "transformer.layers.{l}.", layer, sizes.layers);
  const std::int64_t patch = config.SizeOr({"patch_size"}, 16);
  TensorList before(&stack.before);
  before.Convolution(base + "patch_conv",
                     {sizes.hidden, config.SizeOr({"num_channels"}, 3), patch, patch}, false,
                     Part::kPatchEmbedding);
  before.Norm(base + "ln_pre", sizes.hidden, NormKind::kRms, false, Part::kEmbeddingNorm);
  stack.positions = Positions::kRotary;
  stack.final_norm = NormKind::kNone;
  return stack;
}

Stack Qwen2Vision(const ConfigView& config, const std::string& base) {
  // Here hidden_size is the width of the language model, embed_dim that of the tower.
  EncoderSizes sizes = ReadQwenSizes(config, {"embed_dim"}, 1280, 32);
  const double ratio = config.NumberOr({"mlp_ratio"}, 4);
  if (!(ratio > 0 && ratio <= 1024)) {
    config.Reject({"mlp_ratio"}, "absurd-size", "\"mlp_ratio\" must be between 0 and 1024");
    return Stack();
  }
  sizes.intermediate = static_cast<std::int64_t>(static_cast<double>(sizes.hidden) * ratio);
  LayerPlan layer = PlanEncoderLayer(sizes, kQwen2Parts);
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kQuickGelu);
  Stack stack = EqualLayers(StackRole::kVision, base + "blocks.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  AddQwenPatches(config, base, sizes.hidden, 14, false, &before);
  TensorList after(&stack.after);
  AddQwen2Merger(config, base, sizes, NormKind::kLayerNorm, config.SizeOr({"hidden_size"}, 3584),
                 &after);
  stack.positions = Positions::kRotary;
  stack.final_norm = NormKind::kNone;
  return stack;
}

Stack Qwen25Vision(const ConfigView& config, const std::string& base) {
  EncoderSizes sizes = ReadQwenSizes(config, {"hidden_size"}, 3584, 32);
  sizes.intermediate = config.Size({"intermediate_size"}, 3420);
  LayerPlan layer = PlanEncoderLayer(sizes, kQwen25Parts);
  layer.kind.norm = NormKind::kRms;
  layer.kind.attention.window = config.CountOr({"window_size"}, 112);
  layer.kind.mlp.kind = MlpKind::kGated;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kSilu);
  Stack stack = EqualLayers(StackRole::kVision, base + "blocks.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  AddQwenPatches(config, base, sizes.hidden, 14, false, &before);
  TensorList after(&stack.after);
  AddQwen2Merger(config, base, sizes, NormKind::kRms, config.SizeOr({"out_hidden_size"}, 3584),
                 &after);
  stack.positions = Positions::kRotary;
  stack.final_norm = NormKind::kNone;
  return stack;
}

Stack Qwen3Vision(const ConfigView& config, const std::string& base) {
  EncoderSizes sizes = ReadQwenSizes(config, {"hidden_size"}, 1152, 27);
  sizes.intermediate = config.Size({"intermediate_size"}, 4304);
  LayerPlan layer = PlanEncoderLayer(sizes, kQwen3Parts);
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kGeluTanh);
  Stack stack = EqualLayers(StackRole::kVision, base + "blocks.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  AddQwenPatches(config, base, sizes.hidden, 16, true, &before);
  before.Embedding(base + "pos_embed", config.SizeOr({"num_position_embeddings"}, 2304),
                   sizes.hidden, Part::kPositionEmbedding);

  const std::int64_t merge = config.SizeOr({"spatial_merge_size"}, 2);
  const std::int64_t merged = Product(Product(merge, merge), sizes.hidden);
  const std::int64_t out = config.SizeOr({"out_hidden_size"}, 3584);
  TensorList after(&stack.after);
  after.Norm(base + "merger.norm", sizes.hidden, NormKind::kLayerNorm, true, Part::kProjector);
  after.Linear(base + "merger.linear_fc1", merged, merged, Part::kProjector, true);
  after.Linear(base + "merger.linear_fc2", merged, out, Part::kProjector, true);
  // One more merger for every layer whose features enter the language model.
  const Node* deep = config.Find({"deepstack_visual_indexes"});
  const std::size_t mergers = deep != nullptr ? deep->items.size() : 0;
  for (std::size_t i = 0; i < mergers && i < static_cast<std::size_t>(kMaxLayers); ++i) {
    const std::string name = fmt::format("{}deepstack_merger_list.{}.", base, i);
    after.Norm(name + "norm", merged, NormKind::kLayerNorm, true, Part::kProjector);
    after.Linear(name + "linear_fc1", merged, merged, Part::kProjector, true);
    after.Linear(name + "linear_fc2", merged, out, Part::kProjector, true);
  }
  stack.final_norm = NormKind::kNone;
  return stack;
}

Stack Gemma4Vision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 768, .heads = 12, .intermediate = 3072, .layers = 16});
  LayerPlan layer = PlanEncoderLayer(sizes, kGemma4Parts);
  layer.SetAttentionBias(false, false);
  layer.mlp_bias = false;
  layer.kind.norm = NormKind::kRms;
  layer.kind.post_norms = true;
  spec::Attention& attention = layer.kind.attention;
  attention.head_dim = attention.value_head_dim = config.SizeOr({"head_dim"}, 64);
  attention.kv_heads = config.SizeOr({"num_key_value_heads"}, sizes.heads);
  attention.qk_norm = true;
  attention.rotary_dim = attention.head_dim;
  layer.kind.mlp.kind = MlpKind::kGated;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_activation"}, Activation::kGeluTanh);
  Stack stack = EqualLayers(StackRole::kVision, base + "encoder.layers.{l}.", layer, sizes.layers);
  const std::int64_t patch = config.SizeOr({"patch_size"}, 16);
  TensorList before(&stack.before);
  before.Parameter(base + "patch_embedder.position_embedding_table",
                   {2, config.SizeOr({"position_embedding_size"}, 10240), sizes.hidden},
                   Part::kPositionEmbedding);
  before.Linear(base + "patch_embedder.input_proj", Product(3, Product(patch, patch)), sizes.hidden,
                Part::kPatchEmbedding);
  stack.final_norm = NormKind::kNone;
  return stack;
}

Stack Llama4Vision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 768, .heads = 16, .intermediate = 5632, .layers = 34});
  LayerPlan layer = PlanEncoderLayer(sizes, kLlamaVisionParts);
  layer.kind.attention.rotary_dim = layer.kind.attention.head_dim;
  Stack stack = EqualLayers(StackRole::kVision, base + "model.layers.{l}.", layer, sizes.layers);
  const std::int64_t patch = config.SizeOr({"patch_size"}, 14);
  const std::int64_t side = config.SizeOr({"image_size"}, 448) / patch;
  const std::int64_t channels = config.SizeOr({"num_channels"}, 3);
  TensorList before(&stack.before);
  before.Parameter(base + "class_embedding", {sizes.hidden}, Part::kPatchEmbedding);
  before.Parameter(base + "positional_embedding_vlm", {Product(side, side) + 1, sizes.hidden},
                   Part::kPositionEmbedding);
  before.Linear(base + "patch_embedding.linear", Product(channels, Product(patch, patch)),
                sizes.hidden, Part::kPatchEmbedding);
  before.Norm(base + "layernorm_pre", sizes.hidden, NormKind::kLayerNorm, true,
              Part::kEmbeddingNorm);
  TensorList after(&stack.after);
  after.Norm(base + "layernorm_post", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  const std::int64_t in = config.SizeOr({"projector_input_dim"}, 4096);
  const std::int64_t out = config.SizeOr({"projector_output_dim"}, 4096);
  after.Linear(base + "vision_adapter.mlp.fc1", sizes.intermediate, in, Part::kProjector);
  after.Linear(base + "vision_adapter.mlp.fc2", out, out, Part::kProjector);
  return stack;
}

namespace {

EncoderSizes ReadMllamaSizes(const ConfigView& config) {
  EncoderSizes sizes;
  sizes.hidden = config.Size({"hidden_size"}, 1280);
  sizes.heads = config.Size({"attention_heads"}, 16);
  sizes.intermediate = config.Size({"intermediate_size"}, 5120);
  sizes.layers = config.Size({"num_hidden_layers"}, 32, kMaxLayers);
  config.RequireMultiple({"attention_heads"}, sizes.hidden, sizes.heads,
                         "the width must be a multiple of the number of attention heads");
  return sizes;
}

// Embeddings of patches, positions and tiles; each aspect ratio, and none, has rows of its own.
void AddMllamaEmbeddings(const ConfigView& config, const std::string& base, std::int64_t hidden,
                         TensorList* before) {
  const std::int64_t patch = config.SizeOr({"patch_size"}, 14);
  const std::int64_t side = config.SizeOr({"image_size"}, 448) / patch;
  const std::int64_t positions = Product(side, side) + 1;
  const std::int64_t tiles = config.SizeOr({"max_num_tiles"}, 4);
  const Node* ratios = config.Find({"supported_aspect_ratios"});
  const std::int64_t rows =
      ratios != nullptr ? static_cast<std::int64_t>(ratios->items.size()) + 1 : 9;
  before->Parameter(base + "class_embedding", {hidden}, Part::kPatchEmbedding);
  before->Convolution(base + "patch_embedding",
                      {hidden, config.SizeOr({"num_channels"}, 3), patch, patch}, false,
                      Part::kPatchEmbedding);
  const std::string gated = base + "gated_positional_embedding.";
  before->Parameter(gated + "gate", {1}, Part::kPositionEmbedding);
  before->Parameter(gated + "embedding", {positions, hidden}, Part::kPositionEmbedding);
  before->Embedding(gated + "tile_embedding", rows, Product(tiles, Product(positions, hidden)),
                    Part::kPositionEmbedding);
  for (const char* name : {"pre_tile_positional_embedding.", "post_tile_positional_embedding."}) {
    before->Parameter(base + name + "gate", {1}, Part::kPositionEmbedding);
    before->Embedding(base + name + "embedding", rows, Product(tiles, hidden),
                      Part::kPositionEmbedding);
  }
  before->Norm(base + "layernorm_pre", hidden, NormKind::kLayerNorm, true, Part::kEmbeddingNorm);
}

}  // namespace

std::vector<Stack> MllamaVision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes = ReadMllamaSizes(config);
  const std::int64_t global_layers = config.Size({"num_global_layers"}, 8, kMaxLayers);
  LayerPlan layer = PlanEncoderLayer(sizes, kLlamaVisionParts);
  layer.SetAttentionBias(false, false);
  LayerPlan gated = layer;
  TensorList gates(&gated.mixer);
  gates.Parameter("gate_attn", {1}, Part::kMixer);
  gates.Parameter("gate_ffn", {1}, Part::kMixer);
  Stack local =
      EqualLayers(StackRole::kVision, base + "transformer.layers.{l}.", layer, sizes.layers);
  Stack global = EqualLayers(StackRole::kVision, base + "global_transformer.layers.{l}.", gated,
                             global_layers);
  TensorList before(&local.before);
  AddMllamaEmbeddings(config, base, sizes.hidden, &before);
  // The norm stands between the two stacks.
  TensorList(&local.after)
      .Norm(base + "layernorm_post", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  global.final_norm = NormKind::kNone;
  std::vector<Stack> stacks;
  stacks.push_back(std::move(local));
  stacks.push_back(std::move(global));
  return stacks;
}

}  // namespace trainfit::readers
