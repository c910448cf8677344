// ModernBERT: a pre-norm encoder with rotary positions and alternating windows.
#include <fmt/format.h>

#include <utility>

#include "readers/models/builders.h"
#include "readers/models/encoder_layer.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::MlpKind;
using spec::NormKind;
using spec::Part;
using spec::Stack;

// The first layer has no norm before attention: the embedding is normalized already.
constexpr NamedPart kFirstParts[] = {
    {Part::kQueryKeyValue, "attn.Wqkv"},
    {Part::kOutput, "attn.Wo"},
    {Part::kPreMlpNorm, "mlp_norm"},
    {Part::kGateUp, "mlp.Wi"},
    {Part::kDown, "mlp.Wo"},
};
constexpr NamedPart kParts[] = {
    {Part::kInputNorm, "attn_norm"}, {Part::kQueryKeyValue, "attn.Wqkv"},
    {Part::kOutput, "attn.Wo"},      {Part::kPreMlpNorm, "mlp_norm"},
    {Part::kGateUp, "mlp.Wi"},       {Part::kDown, "mlp.Wo"},
};

// Windows of the layers; every global_attn_every_n_layers-th one, from layer 0 on, has none.
DecoderPlan PlanLayers(const ConfigView& config, const EncoderSizes& sizes) {
  DecoderPlan plan;
  plan.sizes.layers = sizes.layers;
  plan.layer = PlanEncoderLayer(sizes, kParts);
  const bool bias = config.FlagOr({"attention_bias"}, false);
  plan.layer.SetAttentionBias(bias, bias);
  plan.layer.mlp_bias = config.FlagOr({"mlp_bias"}, false);
  plan.layer.norm_bias = config.FlagOr({"norm_bias"}, false);
  plan.layer.kind.attention.rotary_dim = plan.layer.kind.attention.head_dim;
  plan.layer.kind.mlp.kind = MlpKind::kGated;
  plan.layer.kind.fused_gate_up_storage = true;
  plan.layer.kind.mlp.activation = ReadActivation(config, {"hidden_activation"}, Activation::kGelu);
  const std::int64_t window = config.CountOr({"local_attention"}, 128);
  const std::int64_t every = config.SizeOr({"global_attn_every_n_layers"}, 3);
  const auto key = [&](std::int64_t l) { return std::pair<bool, bool>(l == 0, l % every != 0); };
  plan.Vary(key, [&](std::int64_t l) {
    LayerPlan layer = plan.layer;
    if (l == 0) layer.parts = kFirstParts;
    layer.kind.attention.window = l % every != 0 ? window : 0;
    return layer;
  });
  return plan;
}

}  // namespace

void BuildModernBert(ReadContext& context) {
  const ConfigView& config = context.root;
  const std::string& architecture = context.spec.architecture;
  const bool bare = architecture.empty() || architecture.ends_with("Model");
  const std::string base = bare ? "" : "model.";
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 768, .heads = 12, .intermediate = 1152, .layers = 22});
  const std::int64_t hidden = sizes.hidden;
  const std::int64_t vocab = config.Size({"vocab_size"}, 50368);
  const DecoderPlan plan = PlanLayers(config, sizes);
  const bool norm_bias = plan.layer.norm_bias;
  Stack stack;
  stack.role = spec::StackRole::kEncoder;
  stack.layer_prefix = base + "layers.{l}.";
  stack.hidden = hidden;
  stack.final_norm = NormKind::kLayerNorm;
  AppendLayers(&stack, plan.kinds, plan.kind_of);
  TensorList before(&stack.before);
  before.Embedding(base + "embeddings.tok_embeddings", vocab, hidden, Part::kTokenEmbedding);
  before.Norm(base + "embeddings.norm", hidden, NormKind::kLayerNorm, norm_bias,
              Part::kEmbeddingNorm);
  TensorList after(&stack.after);
  after.Norm(base + "final_norm", hidden, NormKind::kLayerNorm, norm_bias, Part::kFinalNorm);
  context.spec.has_head = architecture.ends_with("ForMaskedLM");
  if (!bare) {
    after.Linear("head.dense", hidden, hidden, Part::kPooler,
                 config.FlagOr({"classifier_bias"}, false));
    after.Norm("head.norm", hidden, NormKind::kLayerNorm, norm_bias, Part::kPooler);
  }
  if (context.spec.has_head) {
    context.spec.tied_head = IsTied(context, true);
    if (!context.spec.tied_head) after.Linear("decoder", hidden, vocab, Part::kHead);
    if (config.FlagOr({"decoder_bias"}, true)) {
      after.Parameter("decoder.bias", {vocab}, Part::kHead).is_bias = true;
    }
  } else if (!bare) {
    after.Linear("classifier", hidden, ReadLabels(config), Part::kHead, true);
  }
  context.spec.vocab = vocab;
  context.spec.max_positions = config.CountOr({"max_position_embeddings"}, 8192);
  context.spec.stacks.push_back(std::move(stack));
}

}  // namespace trainfit::readers
