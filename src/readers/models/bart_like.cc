// Encoder-decoders with LayerNorm and biases: BART, mBART, Pegasus, Marian, M2M-100/NLLB, Whisper.
#include <fmt/format.h>

#include <utility>

#include "readers/models/builders.h"
#include "readers/models/encoder_layer.h"

namespace trainfit::readers {
namespace {

using spec::Activation;
using spec::NormKind;
using spec::Part;
using spec::Positions;
using spec::Stack;
using spec::StackRole;

// The norms stand before the sub-layers (mBART, Pegasus, NLLB, Whisper) or behind (BART, Marian).
constexpr NamedPart kEncoderParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kInputNorm, "self_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPreMlpNorm, "final_layer_norm"},
};
constexpr NamedPart kPostNormEncoderParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kPostAttentionNorm, "self_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPostMlpNorm, "final_layer_norm"},
};
constexpr NamedPart kDecoderParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kInputNorm, "self_attn_layer_norm"},
    {Part::kCrossKey, "encoder_attn.k_proj"},
    {Part::kCrossValue, "encoder_attn.v_proj"},
    {Part::kCrossQuery, "encoder_attn.q_proj"},
    {Part::kCrossOutput, "encoder_attn.out_proj"},
    {Part::kCrossNorm, "encoder_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPreMlpNorm, "final_layer_norm"},
};
constexpr NamedPart kPostNormDecoderParts[] = {
    {Part::kKey, "self_attn.k_proj"},
    {Part::kValue, "self_attn.v_proj"},
    {Part::kQuery, "self_attn.q_proj"},
    {Part::kOutput, "self_attn.out_proj"},
    {Part::kPostAttentionNorm, "self_attn_layer_norm"},
    {Part::kCrossKey, "encoder_attn.k_proj"},
    {Part::kCrossValue, "encoder_attn.v_proj"},
    {Part::kCrossQuery, "encoder_attn.q_proj"},
    {Part::kCrossOutput, "encoder_attn.out_proj"},
    {Part::kCrossNorm, "encoder_attn_layer_norm"},
    {Part::kUp, "fc1"},
    {Part::kDown, "fc2"},
    {Part::kPostMlpNorm, "final_layer_norm"},
};

// What a model of this kind has beside its layers.
struct Style {
  bool pre_norm = false;
  bool key_bias = true;
  bool embedding_norm = false;       // layernorm_embedding
  bool final_norm = false;           // layer_norm
  std::int64_t position_offset = 0;  // rows before the first position
  bool learned_positions = false;
  bool stored_sinusoids = false;  // positions that are stored and never trained
};

struct Side {
  StackRole role = StackRole::kEncoder;
  std::string_view name;  // "encoder" or "decoder"
  EncoderSizes sizes;
  std::int64_t positions = 0;
};

Side ReadSide(const ConfigView& config, std::string_view name, StackRole role,
              std::int64_t hidden) {
  const bool encoder = name == "encoder";
  Side side = {.role = role, .name = name, .sizes = {}, .positions = 0};
  EncoderSizes& sizes = side.sizes;
  sizes.hidden = hidden;
  sizes.layers = config.Size({encoder ? "encoder_layers" : "decoder_layers"}, 12, kMaxLayers);
  const std::string_view heads = encoder ? "encoder_attention_heads" : "decoder_attention_heads";
  sizes.heads = config.Size({heads}, 16);
  sizes.intermediate = config.Size({encoder ? "encoder_ffn_dim" : "decoder_ffn_dim"}, 4096);
  side.positions = config.SizeOr({"max_position_embeddings"}, 1024);
  config.RequireMultiple({heads}, hidden, sizes.heads,
                         "the width must be a multiple of the number of attention heads");
  return side;
}

Stack MakeSide(const ConfigView& config, const Side& side, const Style& style) {
  const bool decoder = side.role == StackRole::kDecoder;
  const auto encoder_parts = style.pre_norm ? std::span<const NamedPart>(kEncoderParts)
                                            : std::span<const NamedPart>(kPostNormEncoderParts);
  const auto decoder_parts = style.pre_norm ? std::span<const NamedPart>(kDecoderParts)
                                            : std::span<const NamedPart>(kPostNormDecoderParts);
  LayerPlan layer = PlanEncoderLayer(side.sizes, decoder ? decoder_parts : encoder_parts);
  layer.key_bias = style.key_bias;
  layer.kind.pre_norms = style.pre_norm;
  layer.kind.post_norms = !style.pre_norm;
  layer.kind.attention.causal = decoder;
  layer.kind.attention.has_cross_attention = decoder;
  layer.kind.mlp.activation = ReadActivation(config, {"activation_function"}, Activation::kGelu);
  Stack stack = EqualLayers(side.role, fmt::format("model.{}.layers.{{l}}.", side.name), layer,
                            side.sizes.layers);
  stack.dropout = config.NumberOr({"dropout"}, 0.1);
  stack.positions = style.learned_positions ? Positions::kLearned : Positions::kNone;
  if (!style.final_norm) stack.final_norm = NormKind::kNone;
  const std::int64_t hidden = side.sizes.hidden;
  const auto name = [&](std::string_view leaf) {
    return fmt::format("model.{}.{}", side.name, leaf);
  };
  TensorList before(&stack.before);
  if (style.learned_positions || style.stored_sinusoids) {
    before.Embedding(name("embed_positions"), side.positions + style.position_offset, hidden,
                     Part::kPositionEmbedding);
    stack.before.back().trainable = !style.stored_sinusoids;
  }
  if (style.embedding_norm) {
    before.Norm(name("layernorm_embedding"), hidden, NormKind::kLayerNorm, true,
                Part::kEmbeddingNorm);
  }
  if (style.final_norm) {
    TensorList(&stack.after)
        .Norm(name("layer_norm"), hidden, NormKind::kLayerNorm, true, Part::kFinalNorm);
  }
  return stack;
}

void BuildEncoderDecoder(ReadContext& context, const Style& style) {
  const ConfigView& config = context.text;
  const std::int64_t hidden = config.Size({"d_model"}, 1024);
  const std::int64_t vocab = config.Size({"vocab_size"}, 50265);
  const Side encoder = ReadSide(config, "encoder", StackRole::kEncoder, hidden);
  const Side decoder = ReadSide(config, "decoder", StackRole::kDecoder, hidden);
  Stack encoder_stack = MakeSide(config, encoder, style);
  std::vector<spec::TensorSpec> shared;
  TensorList(&shared).Embedding("model.shared", vocab, hidden, Part::kTokenEmbedding);
  encoder_stack.before.insert(encoder_stack.before.begin(), shared.begin(), shared.end());
  Stack decoder_stack = MakeSide(config, decoder, style);
  context.spec.vocab = vocab;
  context.spec.max_positions = config.CountOr(kPositionKeys, 1024);
  context.spec.has_head = context.head == HeadKind::kLanguageModel;
  if (context.spec.has_head) {
    context.spec.tied_head = IsTied(context, true);
    if (!context.spec.tied_head) {
      TensorList(&decoder_stack.after).Linear("lm_head", hidden, vocab, Part::kHead);
    }
  }
  context.spec.stacks.push_back(std::move(encoder_stack));
  context.spec.stacks.push_back(std::move(decoder_stack));
}

}  // namespace

void BuildBart(ReadContext& context) {
  // BartLearnedPositionalEmbedding: two rows of offset, as in OPT.
  BuildEncoderDecoder(context,
                      {.embedding_norm = true, .position_offset = 2, .learned_positions = true});
}

void BuildMbart(ReadContext& context) {
  BuildEncoderDecoder(context, {.pre_norm = true,
                                .embedding_norm = true,
                                .final_norm = true,
                                .position_offset = 2,
                                .learned_positions = true});
}

void BuildM2m100(ReadContext& context) {
  // Sinusoids are a buffer that is not stored.
  BuildEncoderDecoder(context, {.pre_norm = true, .final_norm = true});
}

void BuildPegasus(ReadContext& context) {
  BuildEncoderDecoder(context, {.pre_norm = true, .final_norm = true, .stored_sinusoids = true});
}

void BuildMarian(ReadContext& context) { BuildEncoderDecoder(context, {.stored_sinusoids = true}); }

void BuildWhisper(ReadContext& context) {
  const ConfigView& config = context.text;
  const std::int64_t hidden = config.Size({"d_model"}, 384);
  const std::int64_t vocab = config.Size({"vocab_size"}, 51865);
  const std::int64_t bins = config.SizeOr({"num_mel_bins"}, 80);
  Side encoder = ReadSide(config, "encoder", StackRole::kAudio, hidden);
  Side decoder = ReadSide(config, "decoder", StackRole::kDecoder, hidden);
  encoder.positions = config.SizeOr({"max_source_positions"}, 1500);
  decoder.positions = config.SizeOr({"max_target_positions"}, 448);
  Style style = {.pre_norm = true,
                 .key_bias = false,
                 .final_norm = true,
                 .learned_positions = true,
                 .stored_sinusoids = true};  // WhisperEncoder: requires_grad_(False)
  Stack encoder_stack = MakeSide(config, encoder, style);
  std::vector<spec::TensorSpec> convolutions;
  TensorList list(&convolutions);
  list.Convolution("model.encoder.conv1", {hidden, bins, 3}, true);
  list.Convolution("model.encoder.conv2", {hidden, hidden, 3}, true);
  encoder_stack.before.insert(encoder_stack.before.begin(), convolutions.begin(),
                              convolutions.end());
  style.stored_sinusoids = false;
  Stack decoder_stack = MakeSide(config, decoder, style);
  std::vector<spec::TensorSpec> embedding;
  TensorList(&embedding)
      .Embedding("model.decoder.embed_tokens", vocab, hidden, Part::kTokenEmbedding);
  decoder_stack.before.insert(decoder_stack.before.begin(), embedding.begin(), embedding.end());
  context.spec.vocab = vocab;
  context.spec.max_positions = decoder.positions;
  context.spec.has_head = context.head == HeadKind::kLanguageModel;
  if (context.spec.has_head) {
    context.spec.tied_head = IsTied(context, true);
    if (!context.spec.tied_head) {
      TensorList(&decoder_stack.after).Linear("proj_out", hidden, vocab, Part::kHead);
    }
  }
  context.spec.stacks.push_back(std::move(encoder_stack));
  context.spec.stacks.push_back(std::move(decoder_stack));
}

}  // namespace trainfit::readers
