// T5 and its kind: RMSNorm, no biases, a relative position bias of the first layer.
#include <algorithm>
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
using spec::StackRole;

constexpr NamedPart kEncoderParts[] = {
    {Part::kQuery, "layer.0.SelfAttention.q"},
    {Part::kKey, "layer.0.SelfAttention.k"},
    {Part::kValue, "layer.0.SelfAttention.v"},
    {Part::kOutput, "layer.0.SelfAttention.o"},
    {Part::kRelativeBias, "layer.0.SelfAttention.relative_attention_bias"},
    {Part::kInputNorm, "layer.0.layer_norm"},
    {Part::kUp, "layer.1.DenseReluDense.wi"},
    {Part::kDown, "layer.1.DenseReluDense.wo"},
    {Part::kPreMlpNorm, "layer.1.layer_norm"},
};
constexpr NamedPart kGatedEncoderParts[] = {
    {Part::kQuery, "layer.0.SelfAttention.q"},
    {Part::kKey, "layer.0.SelfAttention.k"},
    {Part::kValue, "layer.0.SelfAttention.v"},
    {Part::kOutput, "layer.0.SelfAttention.o"},
    {Part::kRelativeBias, "layer.0.SelfAttention.relative_attention_bias"},
    {Part::kInputNorm, "layer.0.layer_norm"},
    {Part::kGate, "layer.1.DenseReluDense.wi_0"},
    {Part::kUp, "layer.1.DenseReluDense.wi_1"},
    {Part::kDown, "layer.1.DenseReluDense.wo"},
    {Part::kPreMlpNorm, "layer.1.layer_norm"},
};
constexpr NamedPart kDecoderParts[] = {
    {Part::kQuery, "layer.0.SelfAttention.q"},
    {Part::kKey, "layer.0.SelfAttention.k"},
    {Part::kValue, "layer.0.SelfAttention.v"},
    {Part::kOutput, "layer.0.SelfAttention.o"},
    {Part::kRelativeBias, "layer.0.SelfAttention.relative_attention_bias"},
    {Part::kInputNorm, "layer.0.layer_norm"},
    {Part::kCrossQuery, "layer.1.EncDecAttention.q"},
    {Part::kCrossKey, "layer.1.EncDecAttention.k"},
    {Part::kCrossValue, "layer.1.EncDecAttention.v"},
    {Part::kCrossOutput, "layer.1.EncDecAttention.o"},
    {Part::kCrossNorm, "layer.1.layer_norm"},
    {Part::kUp, "layer.2.DenseReluDense.wi"},
    {Part::kDown, "layer.2.DenseReluDense.wo"},
    {Part::kPreMlpNorm, "layer.2.layer_norm"},
};
constexpr NamedPart kGatedDecoderParts[] = {
    {Part::kQuery, "layer.0.SelfAttention.q"},
    {Part::kKey, "layer.0.SelfAttention.k"},
    {Part::kValue, "layer.0.SelfAttention.v"},
    {Part::kOutput, "layer.0.SelfAttention.o"},
    {Part::kRelativeBias, "layer.0.SelfAttention.relative_attention_bias"},
    {Part::kInputNorm, "layer.0.layer_norm"},
    {Part::kCrossQuery, "layer.1.EncDecAttention.q"},
    {Part::kCrossKey, "layer.1.EncDecAttention.k"},
    {Part::kCrossValue, "layer.1.EncDecAttention.v"},
    {Part::kCrossOutput, "layer.1.EncDecAttention.o"},
    {Part::kCrossNorm, "layer.1.layer_norm"},
    {Part::kGate, "layer.2.DenseReluDense.wi_0"},
    {Part::kUp, "layer.2.DenseReluDense.wi_1"},
    {Part::kDown, "layer.2.DenseReluDense.wo"},
    {Part::kPreMlpNorm, "layer.2.layer_norm"},
};

struct T5Shape {
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t intermediate = 1;
  std::int64_t buckets = 32;
  bool gated = false;
  bool bias_in_every_layer = false;  // UMT5
  double dropout = 0.1;
};

Stack T5Stack(const T5Shape& shape, StackRole role, std::string prefix, std::int64_t layers) {
  const bool decoder = role == StackRole::kDecoder;
  LayerPlan layer;
  layer.hidden = shape.hidden;
  layer.parts = decoder ? (shape.gated ? std::span<const NamedPart>(kGatedDecoderParts)
                                       : std::span<const NamedPart>(kDecoderParts))
                        : (shape.gated ? std::span<const NamedPart>(kGatedEncoderParts)
                                       : std::span<const NamedPart>(kEncoderParts));
  spec::Attention& attention = layer.kind.attention;
  attention.heads = attention.kv_heads = shape.heads;
  attention.head_dim = attention.value_head_dim = shape.head_dim;
  attention.causal = decoder;
  attention.has_cross_attention = decoder;
  layer.kind.mlp = {.kind = shape.gated ? MlpKind::kGated : MlpKind::kPlain,
                    .activation = shape.gated ? Activation::kGeluNew : Activation::kRelu,
                    .intermediate = shape.intermediate};
  LayerPlan first = layer;
  first.relative_buckets = shape.buckets;

  Stack stack;
  stack.role = role;
  stack.layer_prefix = std::move(prefix);
  stack.hidden = shape.hidden;
  stack.positions = spec::Positions::kRelative;
  stack.dropout = shape.dropout;
  std::vector<LayerPlan> kinds = {first};
  std::vector<std::int32_t> kind_of(static_cast<std::size_t>(layers), 0);
  if (!shape.bias_in_every_layer && layers > 1) {
    kinds.push_back(layer);
    std::fill(kind_of.begin() + 1, kind_of.end(), 1);
  }
  AppendLayers(&stack, kinds, kind_of);
  return stack;
}

T5Shape ReadT5Shape(ReadContext& context) {
  const ConfigView& config = context.text;
  const std::string& type = context.spec.model_type;
  const bool multilingual = type == "mt5" || type == "umt5";
  T5Shape shape;
  shape.hidden = config.Size({"d_model"}, 512);
  shape.heads = config.Size({"num_heads"}, 8);
  shape.head_dim = config.Size({"d_kv"}, 64);
  shape.intermediate = config.Size({"d_ff"}, 2048);
  shape.buckets = config.SizeOr({"relative_attention_num_buckets"}, 32);
  // MT5Config and UMT5Config: gated-gelu; T5Config: relu.
  shape.gated = config.TextOr({"feed_forward_proj"}, multilingual ? "gated-gelu" : "relu")
                    .starts_with("gated-");
  shape.bias_in_every_layer = type == "umt5";
  shape.dropout = config.NumberOr({"dropout_rate"}, 0.1);
  return shape;
}

}  // namespace

void BuildT5(ReadContext& context) {
  const ConfigView& config = context.text;
  const T5Shape shape = ReadT5Shape(context);
  const std::int64_t vocab = config.Size({"vocab_size"}, 32128);
  const std::int64_t layers = config.Size({"num_layers"}, 6, kMaxLayers);
  const std::int64_t decoder_layers = config.SizeOr({"num_decoder_layers"}, layers);
  if (decoder_layers > kMaxLayers) {
    config.Reject({"num_decoder_layers"}, "absurd-size", "more than 1024 decoder layers");
    return;
  }
  context.spec.vocab = vocab;
  Stack encoder = T5Stack(shape, StackRole::kEncoder, "encoder.block.{l}.", layers);
  TensorList(&encoder.before).Embedding("shared", vocab, shape.hidden, Part::kTokenEmbedding);
  TensorList(&encoder.after)
      .Norm("encoder.final_layer_norm", shape.hidden, NormKind::kRms, false, Part::kFinalNorm);
  context.spec.stacks.push_back(std::move(encoder));
  context.spec.has_head = false;
  if (context.spec.architecture.ends_with("EncoderModel")) return;

  Stack decoder = T5Stack(shape, StackRole::kDecoder, "decoder.block.{l}.", decoder_layers);
  TensorList after(&decoder.after);
  after.Norm("decoder.final_layer_norm", shape.hidden, NormKind::kRms, false, Part::kFinalNorm);
  context.spec.has_head = context.head == HeadKind::kLanguageModel;
  if (context.spec.has_head) {
    context.spec.tied_head = IsTied(context, context.spec.model_type == "t5");
    if (!context.spec.tied_head) after.Linear("lm_head", shape.hidden, vocab, Part::kHead);
  }
  context.spec.stacks.push_back(std::move(decoder));
}

}  // namespace trainfit::readers
