// Encoders with a masked-language-model, classification or pooling head: BERT, RoBERTa, DeBERTa.
#include <fmt/format.h>

#include <utility>

#include "readers/models/builders.h"
#include "readers/models/encoder_layer.h"

namespace trainfit::readers {
namespace {

using spec::NormKind;
using spec::Part;
using spec::Positions;
using spec::Stack;
using spec::StackRole;

constexpr NamedPart kBertParts[] = {
    {Part::kQuery, "attention.self.query"},
    {Part::kKey, "attention.self.key"},
    {Part::kValue, "attention.self.value"},
    {Part::kOutput, "attention.output.dense"},
    {Part::kPostAttentionNorm, "attention.output.LayerNorm"},
    {Part::kUp, "intermediate.dense"},
    {Part::kDown, "output.dense"},
    {Part::kPostMlpNorm, "output.LayerNorm"},
};

// modeling_deberta_v2.py with share_att_key: no projections of their own for positions.
constexpr NamedPart kDebertaParts[] = {
    {Part::kQuery, "attention.self.query_proj"},
    {Part::kKey, "attention.self.key_proj"},
    {Part::kValue, "attention.self.value_proj"},
    {Part::kMixer, "attention.self"},
    {Part::kOutput, "attention.output.dense"},
    {Part::kPostAttentionNorm, "attention.output.LayerNorm"},
    {Part::kUp, "intermediate.dense"},
    {Part::kDown, "output.dense"},
    {Part::kPostMlpNorm, "output.LayerNorm"},
};

// What stands on top, by the end of the class name.
enum class Top { kMaskedLm, kPretraining, kPooled, kPooledClassifier, kClassifier, kQuestions };

Top TopOf(std::string_view architecture) {
  if (architecture.ends_with("ForPreTraining")) return Top::kPretraining;
  if (architecture.ends_with("ForTokenClassification")) return Top::kClassifier;
  if (architecture.ends_with("ForQuestionAnswering")) return Top::kQuestions;
  if (architecture.ends_with("ForSequenceClassification")) return Top::kPooledClassifier;
  return architecture.empty() || architecture.ends_with("Model") ? Top::kPooled : Top::kMaskedLm;
}

struct Encoder {
  std::string base;  // "bert.", or empty for the bare class
  Stack stack;
  std::int64_t vocab = 1;
  std::int64_t embedding = 1;  // width of the word embedding
  bool masked_lm = false;
};

Encoder ReadEncoder(ReadContext& context, std::string_view module,
                    std::span<const NamedPart> parts) {
  const ConfigView& config = context.text;
  Encoder encoder;
  const EncoderSizes sizes =
      ReadEncoderSizes(config, {.hidden = 768, .heads = 12, .intermediate = 3072, .layers = 12});
  const Top top = TopOf(context.spec.architecture);
  encoder.base = top == Top::kPooled ? "" : fmt::format("{}.", module);
  encoder.vocab = config.Size(kVocabKeys, 30522);
  encoder.embedding = config.SizeOr({"embedding_size"}, sizes.hidden);
  LayerPlan layer = PlanEncoderLayer(sizes, parts);
  layer.kind.pre_norms = false;
  layer.kind.post_norms = true;
  layer.kind.mlp.activation = ReadActivation(config, {"hidden_act"}, spec::Activation::kGelu);
  encoder.stack =
      EqualLayers(StackRole::kEncoder, encoder.base + "encoder.layer.{l}.", layer, sizes.layers);
  encoder.stack.final_norm = NormKind::kNone;
  encoder.stack.dropout = config.NumberOr({"hidden_dropout_prob"}, 0.1);
  encoder.masked_lm = top == Top::kMaskedLm || top == Top::kPretraining;
  context.spec.vocab = encoder.vocab;
  context.spec.max_positions = config.CountOr(kPositionKeys, 512);
  context.spec.has_head = encoder.masked_lm;
  context.spec.tied_head = encoder.masked_lm;
  return encoder;
}

void AddEmbeddings(const ConfigView& config, Encoder* encoder, std::int64_t types,
                   bool has_positions) {
  TensorList before(&encoder->stack.before);
  const auto name = [&](std::string_view leaf) {
    return fmt::format("{}embeddings.{}", encoder->base, leaf);
  };
  const std::int64_t width = encoder->embedding;
  before.Embedding(name("word_embeddings"), encoder->vocab, width, Part::kTokenEmbedding);
  if (has_positions) {
    before.Embedding(name("position_embeddings"), config.SizeOr({"max_position_embeddings"}, 512),
                     width, Part::kPositionEmbedding);
  }
  if (types > 0) {
    before.Embedding(name("token_type_embeddings"), types, width, Part::kTypeEmbedding);
  }
  if (width != encoder->stack.hidden) {
    before.Linear(name("embed_proj"), width, encoder->stack.hidden, Part::kProjector);
  }
  before.Norm(name("LayerNorm"), encoder->stack.hidden, NormKind::kLayerNorm, true,
              Part::kEmbeddingNorm);
}

// The decoder of a masked-language head is the word embedding; its bias is a vector of its own.
void AddBertMaskedHead(const Encoder& encoder, TensorList* after) {
  const std::int64_t hidden = encoder.stack.hidden;
  after->Parameter("cls.predictions.bias", {encoder.vocab}, Part::kHead).is_bias = true;
  after->Linear("cls.predictions.transform.dense", hidden, encoder.embedding, Part::kPooler, true);
  after->Norm("cls.predictions.transform.LayerNorm", encoder.embedding, NormKind::kLayerNorm, true,
              Part::kPooler);
}

}  // namespace

void BuildBert(ReadContext& context) {
  const ConfigView& config = context.text;
  Encoder encoder = ReadEncoder(context, "bert", kBertParts);
  AddEmbeddings(config, &encoder, config.CountOr({"type_vocab_size"}, 2), true);
  const std::int64_t hidden = encoder.stack.hidden;
  const std::int64_t labels = ReadLabels(context.root);
  TensorList after(&encoder.stack.after);
  const Top top = TopOf(context.spec.architecture);
  if (top == Top::kPooled || top == Top::kPooledClassifier || top == Top::kPretraining) {
    after.Linear(encoder.base + "pooler.dense", hidden, hidden, Part::kPooler, true);
  }
  if (encoder.masked_lm) AddBertMaskedHead(encoder, &after);
  if (top == Top::kPretraining) {
    after.Linear("cls.seq_relationship", hidden, 2, Part::kHead, true);
  }
  if (top == Top::kPooledClassifier || top == Top::kClassifier) {
    after.Linear("classifier", hidden, labels, Part::kHead, true);
  }
  if (top == Top::kQuestions) after.Linear("qa_outputs", hidden, 2, Part::kHead, true);
  context.spec.stacks.push_back(std::move(encoder.stack));
}

void BuildRoberta(ReadContext& context) {
  const ConfigView& config = context.text;
  Encoder encoder = ReadEncoder(context, "roberta", kBertParts);
  AddEmbeddings(config, &encoder, config.CountOr({"type_vocab_size"}, 2), true);
  const std::int64_t hidden = encoder.stack.hidden;
  const std::int64_t labels = ReadLabels(context.root);
  TensorList after(&encoder.stack.after);
  switch (TopOf(context.spec.architecture)) {
    case Top::kPooled:
      after.Linear("pooler.dense", hidden, hidden, Part::kPooler, true);
      break;
    case Top::kPooledClassifier:  // RobertaClassificationHead: no pooler, a dense layer of its own
      after.Linear("classifier.dense", hidden, hidden, Part::kHead, true);
      after.Linear("classifier.out_proj", hidden, labels, Part::kHead, true);
      break;
    case Top::kClassifier:
      after.Linear("classifier", hidden, labels, Part::kHead, true);
      break;
    case Top::kQuestions:
      after.Linear("qa_outputs", hidden, 2, Part::kHead, true);
      break;
    case Top::kMaskedLm:
    case Top::kPretraining:
      after.Parameter("lm_head.bias", {encoder.vocab}, Part::kHead).is_bias = true;
      after.Linear("lm_head.dense", hidden, hidden, Part::kPooler, true);
      after.Norm("lm_head.layer_norm", hidden, NormKind::kLayerNorm, true, Part::kPooler);
      break;
  }
  context.spec.stacks.push_back(std::move(encoder.stack));
}

namespace {

// Tables of relative positions that all layers share, and the norm on them.
void AddDebertaPositions(const ConfigView& config, Encoder* encoder) {
  if (!config.FlagOr({"relative_attention"}, false)) return;
  const std::int64_t hidden = encoder->stack.hidden;
  const std::int64_t furthest =
      config.Has("max_relative_positions") && config.NumberOr({"max_relative_positions"}, -1) >= 1
          ? config.SizeOr({"max_relative_positions"}, 512)
          : config.SizeOr({"max_position_embeddings"}, 512);
  // position_buckets -1: one row for each distance.
  const std::int64_t buckets = config.NumberOr({"position_buckets"}, -1) > 0
                                   ? config.SizeOr({"position_buckets"}, 256)
                                   : furthest;
  TensorList before(&encoder->stack.before);
  before.Embedding(encoder->base + "encoder.rel_embeddings", 2 * buckets, hidden,
                   Part::kRelativeBias);
  if (config.TextOr({"norm_rel_ebd"}, "none").find("layer_norm") != std::string::npos) {
    before.Norm(encoder->base + "encoder.LayerNorm", hidden, NormKind::kLayerNorm, true,
                Part::kRelativeBias);
  }
  encoder->stack.positions = Positions::kRelative;
}

}  // namespace

void BuildDebertaV2(ReadContext& context) {
  const ConfigView& config = context.text;
  Encoder encoder = ReadEncoder(context, "deberta", kDebertaParts);
  AddEmbeddings(config, &encoder, config.CountOr({"type_vocab_size"}, 0),
                config.FlagOr({"position_biased_input"}, true));
  AddDebertaPositions(config, &encoder);
  if (!config.FlagOr({"share_att_key"}, false) && config.FlagOr({"relative_attention"}, false)) {
    config.Warn({"share_att_key"}, "not-counted",
                "the position projections of DeBERTa without share_att_key are not counted");
  }
  const std::int64_t hidden = encoder.stack.hidden;
  const std::int64_t kernel = config.CountOr({"conv_kernel_size"}, 0);
  if (kernel > 0) {
    TensorList before(&encoder.stack.before);
    before.Convolution(encoder.base + "encoder.conv.conv", {hidden, hidden, kernel}, true);
    before.Norm(encoder.base + "encoder.conv.LayerNorm", hidden, NormKind::kLayerNorm, true,
                Part::kConvolution);
  }
  TensorList after(&encoder.stack.after);
  const std::int64_t labels = ReadLabels(context.root);
  switch (TopOf(context.spec.architecture)) {
    case Top::kPooled:  // DebertaV2Model has no pooler
      break;
    case Top::kPooledClassifier:
      after.Linear("pooler.dense", hidden, hidden, Part::kPooler, true);
      after.Linear("classifier", hidden, labels, Part::kHead, true);
      break;
    case Top::kClassifier:
      after.Linear("classifier", hidden, labels, Part::kHead, true);
      break;
    case Top::kQuestions:
      after.Linear("qa_outputs", hidden, 2, Part::kHead, true);
      break;
    case Top::kMaskedLm:
    case Top::kPretraining:
      AddBertMaskedHead(encoder, &after);
      break;
  }
  context.spec.stacks.push_back(std::move(encoder.stack));
}

}  // namespace trainfit::readers
