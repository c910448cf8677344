// CLIP, SigLIP and ViT: the towers, and the models that are one or two of them.
#include <fmt/format.h>

#include <utility>

#include "readers/models/builders.h"
#include "readers/models/encoder_layer.h"
#include "readers/models/vision_towers.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::NormKind;
using spec::Part;
using spec::Stack;
using spec::StackRole;

constexpr NamedPart kClipParts[] = {
    {Part::kKey, "self_attn.k_proj"},   {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"}, {Part::kOutput, "self_attn.out_proj"},
    {Part::kInputNorm, "layer_norm1"},  {Part::kUp, "mlp.fc1"},
    {Part::kDown, "mlp.fc2"},           {Part::kPreMlpNorm, "layer_norm2"},
};
// modeling_siglip.py registers the norm first.
constexpr NamedPart kSiglipParts[] = {
    {Part::kInputNorm, "layer_norm1"},
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kPreMlpNorm, "layer_norm2"},
    {Part::kUp, "mlp.fc1"},
    {Part::kDown, "mlp.fc2"},
};
constexpr NamedPart kVitParts[] = {
    {Part::kQuery, "attention.attention.query"}, {Part::kKey, "attention.attention.key"},
    {Part::kValue, "attention.attention.value"}, {Part::kOutput, "attention.output.dense"},
    {Part::kUp, "intermediate.dense"},           {Part::kDown, "output.dense"},
    {Part::kInputNorm, "layernorm_before"},      {Part::kPreMlpNorm, "layernorm_after"},
};

// Square patches of a square image, checked.
struct Patches {
  std::int64_t channels = 3;
  std::int64_t size = 16;
  std::int64_t count = 1;
};

Patches ReadPatches(const ConfigView& config, std::int64_t default_size) {
  Patches patches;
  patches.channels = config.SizeOr({"num_channels"}, 3);
  patches.size = config.SizeOr({"patch_size"}, default_size);
  const std::int64_t side = config.SizeOr({"image_size"}, 224) / patches.size;
  if (side < 1) {
    config.Reject({"image_size", "patch_size"}, "absurd-size", "an image is smaller than a patch");
  }
  patches.count = Product(side, side);
  return patches;
}

Stack TextTower(const ConfigView& config, const std::string& base, std::span<const NamedPart> parts,
                const EncoderSizes& defaults, bool causal) {
  const EncoderSizes sizes = ReadEncoderSizes(config, defaults);
  LayerPlan layer = PlanEncoderLayer(sizes, parts);
  layer.kind.attention.causal = causal;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kQuickGelu);
  Stack stack = EqualLayers(StackRole::kEncoder, base + "encoder.layers.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  before.Embedding(base + "embeddings.token_embedding", config.SizeOr({"vocab_size"}, 49408),
                   sizes.hidden, Part::kTokenEmbedding);
  before.Embedding(base + "embeddings.position_embedding",
                   config.SizeOr({"max_position_embeddings"}, 77), sizes.hidden,
                   Part::kPositionEmbedding);
  TensorList(&stack.after)
      .Norm(base + "final_layer_norm", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  return stack;
}

// SiglipMultiheadAttentionPoolingHead: torch's MultiheadAttention with a learned query.
void AddPoolingHead(const std::string& base, const EncoderSizes& sizes, TensorList* after) {
  const std::int64_t hidden = sizes.hidden;
  after->Parameter(base + "head.probe", {1, 1, hidden}, Part::kPooler);
  after->Parameter(base + "head.attention.in_proj_weight", {3 * hidden, hidden}, Part::kPooler);
  after->Parameter(base + "head.attention.in_proj_bias", {3 * hidden}, Part::kPooler).is_bias =
      true;
  after->Linear(base + "head.attention.out_proj", hidden, hidden, Part::kPooler, true);
  after->Norm(base + "head.layernorm", hidden, NormKind::kLayerNorm, true, Part::kPooler);
  after->Linear(base + "head.mlp.fc1", hidden, sizes.intermediate, Part::kPooler, true);
  after->Linear(base + "head.mlp.fc2", sizes.intermediate, hidden, Part::kPooler, true);
}

constexpr EncoderSizes kBaseTower = {
    .hidden = 768, .heads = 12, .intermediate = 3072, .layers = 12};

}  // namespace

Stack ClipVision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes = ReadEncoderSizes(config, kBaseTower);
  const Patches patches = ReadPatches(config, 32);
  LayerPlan layer = PlanEncoderLayer(sizes, kClipParts);
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kQuickGelu);
  Stack stack = EqualLayers(StackRole::kVision, base + "encoder.layers.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  before.Parameter(base + "embeddings.class_embedding", {sizes.hidden}, Part::kPatchEmbedding);
  before.Convolution(base + "embeddings.patch_embedding",
                     {sizes.hidden, patches.channels, patches.size, patches.size}, false,
                     Part::kPatchEmbedding);
  before.Embedding(base + "embeddings.position_embedding", patches.count + 1, sizes.hidden,
                   Part::kPositionEmbedding);
  before.Norm(base + "pre_layrnorm", sizes.hidden, NormKind::kLayerNorm, true,
              Part::kEmbeddingNorm);
  TensorList(&stack.after)
      .Norm(base + "post_layernorm", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  return stack;
}

Stack SiglipVision(const ConfigView& config, const std::string& base, bool default_head) {
  const EncoderSizes sizes = ReadEncoderSizes(config, kBaseTower);
  const Patches patches = ReadPatches(config, 16);
  LayerPlan layer = PlanEncoderLayer(sizes, kSiglipParts);
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kGeluTanh);
  Stack stack = EqualLayers(StackRole::kVision, base + "encoder.layers.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  before.Convolution(base + "embeddings.patch_embedding",
                     {sizes.hidden, patches.channels, patches.size, patches.size}, true,
                     Part::kPatchEmbedding);
  before.Embedding(base + "embeddings.position_embedding", patches.count, sizes.hidden,
                   Part::kPositionEmbedding);
  TensorList after(&stack.after);
  after.Norm(base + "post_layernorm", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  if (config.FlagOr({"vision_use_head"}, default_head)) AddPoolingHead(base, sizes, &after);
  return stack;
}

Stack Idefics3Vision(const ConfigView& config, const std::string& base) {
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 1152, .heads = 16, .intermediate = 3072, .layers = 12});
  const Patches patches = ReadPatches(config, 32);
  LayerPlan layer = PlanEncoderLayer(sizes, kClipParts);
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kGeluTanh);
  Stack stack = EqualLayers(StackRole::kVision, base + "encoder.layers.{l}.", layer, sizes.layers);
  TensorList before(&stack.before);
  before.Convolution(base + "embeddings.patch_embedding",
                     {sizes.hidden, patches.channels, patches.size, patches.size}, true,
                     Part::kPatchEmbedding);
  before.Embedding(base + "embeddings.position_embedding", patches.count, sizes.hidden,
                   Part::kPositionEmbedding);
  TensorList(&stack.after)
      .Norm(base + "post_layernorm", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  return stack;
}

void BuildClip(ReadContext& context) {
  ConfigView text_config = context.root.Section("text_config");
  ConfigView vision_config = context.root.Section("vision_config");
  text_config.SetClass("CLIPTextConfig");
  text_config.AllowDefaults();
  vision_config.SetClass("CLIPVisionConfig");
  vision_config.AllowDefaults();
  const std::int64_t projection = context.root.SizeOr({"projection_dim"}, 512);
  Stack vision = ClipVision(vision_config, "vision_model.");
  Stack text = TextTower(text_config, "text_model.", kClipParts,
                         {.hidden = 512, .heads = 8, .intermediate = 2048, .layers = 12}, true);
  TensorList(&vision.after)
      .Linear("visual_projection", vision.hidden, projection, Part::kProjector);
  TensorList after(&text.after);
  after.Linear("text_projection", text.hidden, projection, Part::kProjector);
  after.Parameter("logit_scale", {}, Part::kOther);  // a scalar
  context.spec.vocab = text_config.SizeOr({"vocab_size"}, 49408);
  context.spec.max_positions = text_config.CountOr({"max_position_embeddings"}, 77);
  context.spec.has_head = false;
  context.spec.stacks.push_back(std::move(vision));
  context.spec.stacks.push_back(std::move(text));
}

void BuildClipVision(ReadContext& context) {
  context.spec.has_head = false;
  context.spec.stacks.push_back(ClipVision(context.root, "vision_model."));
}

void BuildSiglipVision(ReadContext& context) {
  context.spec.has_head = false;
  context.spec.stacks.push_back(SiglipVision(context.root, "vision_model.", true));
}

void BuildSiglip(ReadContext& context) {
  ConfigView text_config = context.root.Section("text_config");
  ConfigView vision_config = context.root.Section("vision_config");
  text_config.SetClass("SiglipTextConfig");
  text_config.AllowDefaults();
  vision_config.SetClass("SiglipVisionConfig");
  vision_config.AllowDefaults();
  Stack vision = SiglipVision(vision_config, "vision_model.", true);
  const std::int64_t vocab = text_config.SizeOr({"vocab_size"}, 32000);
  const EncoderSizes defaults = kBaseTower;
  Stack text = TextTower(text_config, "text_model.", kSiglipParts, defaults, false);
  // SiglipTextConfig differs from CLIP's in both table sizes.
  text.before[0].shape[0] = vocab;
  text.before[1].shape[0] = text_config.SizeOr({"max_position_embeddings"}, 64);
  TensorList after(&text.after);
  after.Linear("text_model.head", text.hidden, text_config.SizeOr({"projection_size"}, text.hidden),
               Part::kProjector, true);
  after.Parameter("logit_scale", {1}, Part::kOther);
  after.Parameter("logit_bias", {1}, Part::kOther);
  context.spec.vocab = vocab;
  context.spec.max_positions = text.before[1].shape[0];
  context.spec.has_head = false;
  context.spec.stacks.push_back(std::move(vision));
  context.spec.stacks.push_back(std::move(text));
}

void BuildVit(ReadContext& context) {
  const ConfigView& config = context.root;
  const bool bare = context.head == HeadKind::kNone;
  const std::string base = bare ? "" : "vit.";
  const EncoderSizes sizes = ReadEncoderSizes(config, kBaseTower);
  const Patches patches = ReadPatches(config, 16);
  LayerPlan layer = PlanEncoderLayer(sizes, kVitParts);
  const bool bias = config.FlagOr({"qkv_bias"}, true);
  layer.query_bias = layer.key_bias = layer.value_bias = bias;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, Activation::kGelu);
  Stack stack = EqualLayers(StackRole::kVision, base + "encoder.layer.{l}.", layer, sizes.layers);
  stack.dropout = config.NumberOr({"hidden_dropout_prob"}, 0);
  TensorList before(&stack.before);
  before.Parameter(base + "embeddings.cls_token", {1, 1, sizes.hidden}, Part::kPatchEmbedding);
  before.Parameter(base + "embeddings.position_embeddings", {1, patches.count + 1, sizes.hidden},
                   Part::kPositionEmbedding);
  before.Convolution(base + "embeddings.patch_embeddings.projection",
                     {sizes.hidden, patches.channels, patches.size, patches.size}, true,
                     Part::kPatchEmbedding);
  TensorList after(&stack.after);
  after.Norm(base + "layernorm", sizes.hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  if (bare) {
    const std::int64_t width = config.SizeOr({"pooler_output_size"}, sizes.hidden);
    after.Linear("pooler.dense", sizes.hidden, width, Part::kPooler, true);
  } else {
    after.Linear("classifier", sizes.hidden, ReadLabels(config), Part::kHead, true);
  }
  context.spec.has_head = false;
  context.spec.stacks.push_back(std::move(stack));
}

}  // namespace trainfit::readers
