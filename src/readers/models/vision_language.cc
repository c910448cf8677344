// Models of a vision tower, a projector and a language model, each read as in a file of its own.
#include <fmt/format.h>

#include <utility>

#include "readers/models/builders.h"
#include "readers/models/llama_like.h"
#include "readers/models/vision_towers.h"
#include "readers/registry.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::NormKind;
using spec::Part;
using spec::Stack;

// modeling_mllama.py: cross-attention replaces self-attention; the scalar gates come first.
constexpr NamedPart kMllamaCrossParts[] = {
    {Part::kMixer, "gates"},
    {Part::kCrossQuery, "cross_attn.q_proj"},
    {Part::kCrossKey, "cross_attn.k_proj"},
    {Part::kCrossValue, "cross_attn.v_proj"},
    {Part::kCrossOutput, "cross_attn.o_proj"},
    {Part::kQueryNorm, "cross_attn.q_norm"},
    {Part::kKeyNorm, "cross_attn.k_norm"},
    {Part::kInputNorm, "input_layernorm"},
    {Part::kGate, "mlp.gate_proj"},
    {Part::kUp, "mlp.up_proj"},
    {Part::kDown, "mlp.down_proj"},
    {Part::kPreMlpNorm, "post_attention_layernorm"},
};

// Sections of such files lean on class defaults.
ConfigView VisionSection(const ReadContext& context, std::string_view class_name) {
  ConfigView vision = context.root.Section("vision_config");
  vision.SetClass(class_name);
  vision.AllowDefaults();
  return vision;
}

// Puts `text_config` (or the root, where older files keep those keys) before the builders.
void EnterText(ReadContext& context, std::string_view default_type) {
  if (context.root.Has("text_config")) {
    context.text = context.root.Section("text_config");
    context.text.AllowDefaults();
  }
  context.text_type = context.root.Has("text_config")
                          ? context.text.TextOr({"model_type"}, std::string(default_type))
                          : std::string(default_type);
}

// Builds the language model with the builder of its own type, under the given module names.
void BuildText(ReadContext& context, std::string base, std::string head_prefix) {
  if (context.has_base) {  // a language model that has a vision tower of its own
    context.text.Reject({"model_type"}, "unknown-model-type",
                        fmt::format("\"{}\" is no language model", context.text_type));
    return;
  }
  context.has_base = true;
  context.base = std::move(base);
  context.head_prefix = std::move(head_prefix);
  const Builder build = FindBuilder(context.text_type);
  if (build == nullptr) {
    context.text.Reject({"model_type"}, "unknown-model-type",
                        fmt::format("\"{}\" is no known language model", context.text_type));
    return;
  }
  build(context);
}

std::int64_t TextWidth(const ReadContext& context) {
  return context.text.SizeOr(kHiddenKeys, DefaultsOf(context.text_type).hidden > 0
                                              ? DefaultsOf(context.text_type).hidden
                                              : 1);
}

// Tower of a LLaVA-like model by the type its section names.
Stack AnyTower(ReadContext& context, std::string_view default_type, const std::string& base) {
  ConfigView vision = VisionSection(context, "the vision configuration");
  const std::string type = vision.TextOr({"model_type"}, std::string(default_type));
  if (type == "clip_vision_model") return ClipVision(vision, base + "vision_model.");
  if (type == "siglip_vision_model") return SiglipVision(vision, base + "vision_model.", true);
  if (type == "pixtral") return PixtralVision(vision, base);
  vision.Reject({"model_type"}, "unknown-model-type",
                fmt::format("\"{}\" is no known vision tower: clip_vision_model, "
                            "siglip_vision_model and pixtral are",
                            type));
  return Stack();
}

// Number of layers whose features are concatenated: vision_feature_layer may be a list.
std::int64_t FeatureLayers(const ConfigView& root) {
  const Node* layers = root.Find({"vision_feature_layer"});
  if (layers == nullptr || layers->kind != NodeKind::kArray || layers->items.empty()) return 1;
  return static_cast<std::int64_t>(layers->items.size());
}

void AddLlavaProjector(const ReadContext& context, std::int64_t in, TensorList* after) {
  const std::int64_t out = TextWidth(context);
  const bool bias = context.root.FlagOr({"multimodal_projector_bias"}, true);
  after->Linear("multi_modal_projector.linear_1", in, out, Part::kProjector, bias);
  after->Linear("multi_modal_projector.linear_2", out, out, Part::kProjector, bias);
}

}  // namespace

void BuildLlava(ReadContext& context) {
  EnterText(context, "llama");
  Stack tower = AnyTower(context, "clip_vision_model", "vision_tower.");
  TensorList after(&tower.after);
  AddLlavaProjector(context, Product(tower.hidden, FeatureLayers(context.root)), &after);
  if (context.spec.model_type == "llava_next") {
    after.Parameter("image_newline", {TextWidth(context)}, Part::kProjector);
  }
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildMistral3(ReadContext& context) {
  EnterText(context, "mistral");
  Stack tower = AnyTower(context, "pixtral", "vision_tower.");
  const std::int64_t merge = context.root.SizeOr({"spatial_merge_size"}, 2);
  const std::int64_t out = TextWidth(context);
  const bool bias = context.root.FlagOr({"multimodal_projector_bias"}, false);
  TensorList after(&tower.after);
  after.Norm("multi_modal_projector.norm", tower.hidden, NormKind::kRms, false, Part::kProjector);
  after.Linear("multi_modal_projector.patch_merger.merging_layer",
               Product(tower.hidden, Product(merge, merge)), tower.hidden, Part::kProjector);
  after.Linear("multi_modal_projector.linear_1", Product(tower.hidden, FeatureLayers(context.root)),
               out, Part::kProjector, bias);
  after.Linear("multi_modal_projector.linear_2", out, out, Part::kProjector, bias);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildGemma3(ReadContext& context) {
  EnterText(context, "gemma3_text");
  Stack tower =
      SiglipVision(VisionSection(context, "SiglipVisionConfig"), "vision_tower.vision_model.",
                   // Gemma3Model builds the tower without its pooling head.
                   false);
  TensorList after(&tower.after);
  after.Parameter("multi_modal_projector.mm_input_projection_weight",
                  {tower.hidden, TextWidth(context)}, Part::kProjector);
  after.Norm("multi_modal_projector.mm_soft_emb_norm", tower.hidden, NormKind::kRms, false,
             Part::kProjector);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildGemma4(ReadContext& context) {
  EnterText(context, "gemma4_text");
  if (context.root.Has("vision_config")) {
    Stack tower = Gemma4Vision(VisionSection(context, "Gemma4VisionConfig"), "model.vision_tower.");
    TensorList(&tower.after)
        .Linear("model.embed_vision.embedding_projection", tower.hidden, TextWidth(context),
                Part::kProjector);
    context.spec.stacks.push_back(std::move(tower));
  }
  if (context.root.Has("audio_config")) {
    context.root.Warn({"audio_config"}, "not-counted",
                      "the audio tower of Gemma 4 is not read; counts leave it out");
  }
  BuildText(context, "model.language_model.", "");
}

void BuildPaliGemma(ReadContext& context) {
  EnterText(context, "gemma");
  Stack tower = SiglipVision(VisionSection(context, "SiglipVisionConfig"),
                             "vision_tower.vision_model.", false);
  TensorList(&tower.after)
      .Linear("multi_modal_projector.linear", tower.hidden,
              context.root.SizeOr({"projection_dim"}, TextWidth(context)), Part::kProjector, true);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildIdefics3(ReadContext& context) {
  EnterText(context, "llama");
  Stack tower =
      Idefics3Vision(VisionSection(context, "Idefics3VisionConfig"), "model.vision_model.");
  const std::int64_t scale = context.root.SizeOr({"scale_factor"}, 2);
  TensorList(&tower.after)
      .Linear("model.connector.modality_projection.proj",
              Product(tower.hidden, Product(scale, scale)), TextWidth(context), Part::kProjector);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "model.text_model.", "");
}

void BuildInternVl(ReadContext& context) {
  EnterText(context, "qwen2");
  Stack tower = InternVlVision(VisionSection(context, "InternVLVisionConfig"), "vision_tower.");
  // Four neighbours become one token at a ratio of a half.
  const double ratio = context.root.NumberOr({"downsample_ratio"}, 0.5);
  if (!(ratio >= 1.0 / 64 && ratio <= 1)) {
    context.root.Reject({"downsample_ratio"}, "absurd-size",
                        "\"downsample_ratio\" must be between 1/64 and 1");
    return;
  }
  const auto merged = static_cast<std::int64_t>(1 / ratio);
  const std::int64_t in = Product(tower.hidden, Product(merged, merged));
  const std::int64_t out = TextWidth(context);
  TensorList after(&tower.after);
  after.Norm("multi_modal_projector.layer_norm", in, NormKind::kLayerNorm, true, Part::kProjector);
  after.Linear("multi_modal_projector.linear_1", in, out, Part::kProjector, true);
  after.Linear("multi_modal_projector.linear_2", out, out, Part::kProjector, true);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildGemma3n(ReadContext& context) {
  EnterText(context, "gemma3n_text");
  context.root.Warn({"vision_config", "audio_config"}, "not-counted",
                    "the vision and audio towers of Gemma 3n are not read; counts leave them out");
  BuildText(context, "model.language_model.", "");
}

void BuildLanguagePart(ReadContext& context) {
  EnterText(context, "");
  context.spec.not_simulated = "an unknown model of several parts; only its language model is read";
  context.root.Warn(
      {"model_type"}, "unknown-model-type",
      fmt::format("\"{}\" is no known model_type: only its language model (\"{}\") is read",
                  context.spec.model_type, context.text_type),
      "counts leave out the other parts");
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildLlama4(ReadContext& context) {
  EnterText(context, "llama4_text");
  const ConfigView vision = VisionSection(context, "Llama4VisionConfig");
  Stack tower = Llama4Vision(vision, "vision_model.");
  TensorList(&tower.after)
      .Linear("multi_modal_projector.linear_1", vision.SizeOr({"vision_output_dim"}, 4096),
              TextWidth(context), Part::kProjector);
  context.spec.stacks.push_back(std::move(tower));
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildMllama(ReadContext& context) {
  EnterText(context, "mllama_text_model");
  const ConfigView vision = VisionSection(context, "MllamaVisionConfig");
  for (Stack& stack : MllamaVision(vision, "vision_model.")) {
    context.spec.stacks.push_back(std::move(stack));
  }
  TensorList(&context.spec.stacks.back().after)
      .Linear("multi_modal_projector", vision.SizeOr({"vision_output_dim"}, 7680),
              TextWidth(context), Part::kProjector, true);
  BuildText(context, "language_model.model.", "language_model.");
}

void BuildMllamaText(ReadContext& context) {
  DecoderPlan plan = PlanLlama(context);
  // MllamaTextModel: eight rows more than the head, for the image tokens.
  plan.embedding_rows = plan.sizes.vocab + 8;
  std::vector<bool> cross(static_cast<std::size_t>(plan.sizes.layers));
  if (const Node* list = context.text.Find({"cross_attention_layers"}); list != nullptr) {
    for (const Node& layer : list->items) {
      if (layer.kind != NodeKind::kInt || layer.integer < 0) continue;
      if (layer.integer < plan.sizes.layers) cross[static_cast<std::size_t>(layer.integer)] = true;
    }
  } else {
    // MllamaTextConfig: 3, 8, 13, …, 38.
    for (std::int64_t l = 3; l < plan.sizes.layers; l += 5)
      cross[static_cast<std::size_t>(l)] = true;
  }
  LayerPlan with_cross = plan.layer;
  with_cross.parts = kMllamaCrossParts;
  with_cross.kind.attention.has_cross_attention = true;
  with_cross.kind.attention.causal = false;
  with_cross.kind.attention.qk_norm = true;
  with_cross.kind.attention.rotary_dim = 0;
  TensorList gates(&with_cross.mixer);
  gates.Parameter("cross_attn_attn_gate", {1}, Part::kMixer);
  gates.Parameter("cross_attn_mlp_gate", {1}, Part::kMixer);
  const auto is_cross = [&](std::int64_t l) -> bool { return cross[static_cast<std::size_t>(l)]; };
  plan.Vary(is_cross, [&](std::int64_t l) { return is_cross(l) ? with_cross : plan.layer; });
  FinishDecoder(context, std::move(plan));
}

void BuildQwen2Vl(ReadContext& context) {
  EnterText(context, "qwen2_vl_text");
  context.spec.stacks.push_back(
      Qwen2Vision(VisionSection(context, "Qwen2VLVisionConfig"), "visual."));
  BuildText(context, "model.", "");
}

void BuildQwen25Vl(ReadContext& context) {
  EnterText(context, "qwen2_5_vl_text");
  context.spec.stacks.push_back(
      Qwen25Vision(VisionSection(context, "Qwen2_5_VLVisionConfig"), "visual."));
  BuildText(context, "model.", "");
}

void BuildQwen3Vl(ReadContext& context) {
  EnterText(context, context.spec.model_type + "_text");
  context.spec.stacks.push_back(
      Qwen3Vision(VisionSection(context, "Qwen3VLVisionConfig"), "model.visual."));
  BuildText(context, "model.language_model.", "");
}

}  // namespace trainfit::readers
