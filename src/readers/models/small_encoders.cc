// Encoders that save parameters: ALBERT shares its layers, DistilBERT has half of BERT's, ELECTRA a
// narrow embedding and heads of its own.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "readers/models/builders.h"
#include "readers/models/encoder_layer.h"

namespace trainfit::readers {
namespace {

using spec::NormKind;
using spec::Part;
using spec::Stack;
using spec::StackRole;

// modeling_albert.py; the norm behind the MLP is registered first.
constexpr NamedPart kAlbertParts[] = {
    {Part::kPostMlpNorm, "full_layer_layer_norm"},
    {Part::kQuery, "attention.query"},
    {Part::kKey, "attention.key"},
    {Part::kValue, "attention.value"},
    {Part::kOutput, "attention.dense"},
    {Part::kPostAttentionNorm, "attention.LayerNorm"},
    {Part::kUp, "ffn"},
    {Part::kDown, "ffn_output"},
};

// modeling_distilbert.py.
constexpr NamedPart kDistilBertParts[] = {
    {Part::kQuery, "attention.q_lin"},
    {Part::kKey, "attention.k_lin"},
    {Part::kValue, "attention.v_lin"},
    {Part::kOutput, "attention.out_lin"},
    {Part::kPostAttentionNorm, "sa_layer_norm"},
    {Part::kUp, "ffn.lin1"},
    {Part::kDown, "ffn.lin2"},
    {Part::kPostMlpNorm, "output_layer_norm"},
};

constexpr NamedPart kElectraParts[] = {
    {Part::kQuery, "attention.self.query"},
    {Part::kKey, "attention.self.key"},
    {Part::kValue, "attention.self.value"},
    {Part::kOutput, "attention.output.dense"},
    {Part::kPostAttentionNorm, "attention.output.LayerNorm"},
    {Part::kUp, "intermediate.dense"},
    {Part::kDown, "output.dense"},
    {Part::kPostMlpNorm, "output.LayerNorm"},
};

// What the class of the file puts on top.
struct Top {
  explicit Top(std::string_view architecture) {
    is_bare = architecture.empty() || architecture.ends_with("Model");
    is_pretraining = architecture.ends_with("ForPreTraining");
    is_tokens = architecture.ends_with("ForTokenClassification");
    is_questions = architecture.ends_with("ForQuestionAnswering");
    is_sequences = architecture.ends_with("ForSequenceClassification") ||
                   architecture.ends_with("ForMultipleChoice");
    is_words = !is_bare && !is_pretraining && !is_tokens && !is_questions && !is_sequences;
  }

  bool is_bare = false;
  bool is_pretraining = false;
  bool is_tokens = false;
  bool is_questions = false;
  bool is_sequences = false;
  bool is_words = false;
};

struct Embeddings {
  std::int64_t vocab = 1;
  std::int64_t width = 1;
  std::int64_t positions = 512;
  std::int64_t types = 0;
  bool fixed_positions = false;
};

void AddEmbeddings(const std::string& base, const Embeddings& sizes, Stack* stack) {
  TensorList list(&stack->before);
  const auto name = [&](std::string_view leaf) {
    return fmt::format("{}embeddings.{}", base, leaf);
  };
  list.Embedding(name("word_embeddings"), sizes.vocab, sizes.width, Part::kTokenEmbedding);
  list.Embedding(name("position_embeddings"), sizes.positions, sizes.width,
                 Part::kPositionEmbedding);
  if (sizes.fixed_positions) stack->before.back().trainable = false;
  if (sizes.types > 0) {
    list.Embedding(name("token_type_embeddings"), sizes.types, sizes.width, Part::kTypeEmbedding);
  }
  list.Norm(name("LayerNorm"), sizes.width, NormKind::kLayerNorm, true, Part::kEmbeddingNorm);
}

Embeddings ReadEmbeddings(const ConfigView& config, std::int64_t vocab, std::int64_t width) {
  return {.vocab = config.Size(kVocabKeys, vocab),
          .width = width,
          .positions = config.SizeOr(kPositionKeys, 512),
          .types = config.CountOr({"type_vocab_size"}, 2)};
}

// A dense layer and a norm before the word embedding is used again as the output.
void AddWordHead(const std::string& dense, const std::string& norm, std::int64_t hidden,
                 std::int64_t width, Stack* stack) {
  TensorList list(&stack->after);
  list.Linear(dense, hidden, width, Part::kPooler, true);
  list.Norm(norm, width, NormKind::kLayerNorm, true, Part::kPooler);
}

LayerPlan PlanLayer(const ConfigView& config, const EncoderSizes& sizes,
                    std::span<const NamedPart> parts, Keys activation) {
  LayerPlan layer = PlanEncoderLayer(sizes, parts);
  layer.kind.pre_norms = false;
  layer.kind.post_norms = true;
  layer.kind.mlp.activation = ReadActivation(config, activation, spec::Activation::kGelu);
  return layer;
}

void Finish(ReadContext& context, const Top& top, const Embeddings& sizes, Stack stack) {
  stack.final_norm = NormKind::kNone;
  stack.dropout = context.text.NumberOr({"hidden_dropout_prob", "dropout"}, stack.dropout);
  context.spec.vocab = sizes.vocab;
  context.spec.max_positions = sizes.positions;
  context.spec.has_head = context.spec.tied_head = top.is_words || top.is_pretraining;
  context.spec.stacks.push_back(std::move(stack));
}

}  // namespace

void BuildAlbert(ReadContext& context) {
  const ConfigView& config = context.text;
  const Top top(context.spec.architecture);
  const std::string base = top.is_bare ? "" : "albert.";
  EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 4096, .heads = 64, .intermediate = 16384, .layers = 12});
  const std::int64_t hidden = sizes.hidden;
  const Embeddings embeddings =
      ReadEmbeddings(config, 30000, config.SizeOr({"embedding_size"}, 128));
  const std::int64_t groups = config.SizeOr({"num_hidden_groups"}, 1);
  // What is stored: the groups, which the layers use in turn.
  Stack stack =
      EqualLayers(StackRole::kEncoder, base + "encoder.albert_layer_groups.{l}.albert_layers.0.",
                  PlanLayer(config, sizes, kAlbertParts, {"hidden_act"}), groups);
  if (config.SizeOr({"inner_group_num"}, 1) > 1) {
    config.Reject({"inner_group_num"}, "not-supported", "groups of several layers are not read");
  }
  AddEmbeddings(base, embeddings, &stack);
  TensorList(&stack.before)
      .Linear(base + "encoder.embedding_hidden_mapping_in", embeddings.width, hidden,
              Part::kProjector, true);
  TensorList after(&stack.after);
  if (top.is_bare || top.is_pretraining || top.is_sequences) {
    after.Linear(base + "pooler", hidden, hidden, Part::kPooler, true);
  }
  if (top.is_words || top.is_pretraining) {
    after.Parameter("predictions.bias", {embeddings.vocab}, Part::kHead).is_bias = true;
    AddWordHead("predictions.dense", "predictions.LayerNorm", hidden, embeddings.width, &stack);
  }
  const std::int64_t labels = ReadLabels(context.root);
  if (top.is_pretraining) after.Linear("sop_classifier.classifier", hidden, 2, Part::kHead, true);
  if (top.is_sequences || top.is_tokens) {
    after.Linear("classifier", hidden, labels, Part::kHead, true);
  }
  if (top.is_questions) after.Linear("qa_outputs", hidden, 2, Part::kHead, true);
  context.spec.not_simulated = "layers that share their weights";
  Finish(context, top, embeddings, std::move(stack));
}

void BuildDistilBert(ReadContext& context) {
  const ConfigView& config = context.text;
  const Top top(context.spec.architecture);
  const std::string base = top.is_bare ? "" : "distilbert.";
  const EncoderSizes sizes = {.hidden = config.Size({"dim"}, 768),
                              .heads = config.Size({"n_heads"}, 12),
                              .intermediate = config.Size({"hidden_dim"}, 3072),
                              .layers = config.Size({"n_layers"}, 6, kMaxLayers)};
  config.RequireMultiple({"n_heads"}, sizes.hidden, sizes.heads,
                         "the width must be a multiple of the number of attention heads");
  Embeddings embeddings = ReadEmbeddings(config, 30522, sizes.hidden);
  embeddings.types = 0;
  // modeling_distilbert.py, create_sinusoidal_embeddings: requires_grad False.
  embeddings.fixed_positions = config.FlagOr({"sinusoidal_pos_embds"}, false);
  Stack stack =
      EqualLayers(StackRole::kEncoder, base + "transformer.layer.{l}.",
                  PlanLayer(config, sizes, kDistilBertParts, {"activation"}), sizes.layers);
  stack.dropout = 0.1;
  AddEmbeddings(base, embeddings, &stack);
  TensorList after(&stack.after);
  const std::int64_t labels = ReadLabels(context.root);
  if (top.is_words || top.is_pretraining) {
    AddWordHead("vocab_transform", "vocab_layer_norm", sizes.hidden, sizes.hidden, &stack);
    after.Parameter("vocab_projector.bias", {embeddings.vocab}, Part::kHead).is_bias = true;
  }
  if (top.is_sequences) {
    after.Linear("pre_classifier", sizes.hidden, sizes.hidden, Part::kPooler, true);
  }
  if (top.is_sequences || top.is_tokens) {
    after.Linear("classifier", sizes.hidden, labels, Part::kHead, true);
  }
  if (top.is_questions) after.Linear("qa_outputs", sizes.hidden, 2, Part::kHead, true);
  Finish(context, top, embeddings, std::move(stack));
}

void BuildElectra(ReadContext& context) {
  const ConfigView& config = context.text;
  const Top top(context.spec.architecture);
  const std::string base = top.is_bare ? "" : "electra.";
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 256, .heads = 4, .intermediate = 1024, .layers = 12});
  const std::int64_t hidden = sizes.hidden;
  const Embeddings embeddings =
      ReadEmbeddings(config, 30522, config.SizeOr({"embedding_size"}, 128));
  Stack stack = EqualLayers(StackRole::kEncoder, base + "encoder.layer.{l}.",
                            PlanLayer(config, sizes, kElectraParts, {"hidden_act"}), sizes.layers);
  stack.dropout = 0.1;
  AddEmbeddings(base, embeddings, &stack);
  if (embeddings.width != hidden) {
    TensorList(&stack.before)
        .Linear(base + "embeddings_project", embeddings.width, hidden, Part::kProjector, true);
  }
  TensorList after(&stack.after);
  const std::int64_t labels = ReadLabels(context.root);
  if (top.is_words) {
    AddWordHead("generator_predictions.dense", "generator_predictions.LayerNorm", hidden,
                embeddings.width, &stack);
    after.Parameter("generator_lm_head.bias", {embeddings.vocab}, Part::kHead).is_bias = true;
  }
  if (top.is_pretraining) {  // tells replaced tokens from the others
    after.Linear("discriminator_predictions.dense", hidden, hidden, Part::kPooler, true);
    after.Linear("discriminator_predictions.dense_prediction", hidden, 1, Part::kHead, true);
  }
  if (top.is_sequences) {
    after.Linear("classifier.dense", hidden, hidden, Part::kHead, true);
    after.Linear("classifier.out_proj", hidden, labels, Part::kHead, true);
  }
  if (top.is_tokens) after.Linear("classifier", hidden, labels, Part::kHead, true);
  if (top.is_questions) after.Linear("qa_outputs", hidden, 2, Part::kHead, true);
  Finish(context, top, embeddings, std::move(stack));
  if (top.is_pretraining) context.spec.has_head = context.spec.tied_head = false;
}

}  // namespace trainfit::readers
