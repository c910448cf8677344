#include "readers/decoder_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest_word.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::Activation;
using spec::NormKind;
using spec::Part;

std::string Joined(std::string_view a, std::string_view b) {
  std::string joined;
  joined.reserve(a.size() + b.size());
  return joined.append(a).append(b);
}

// "hidden / heads" where the class has no number of its own.
std::int64_t ReadHeadDim(const ConfigView& config, const ClassDefaults& defaults,
                         const DecoderSizes& sizes, bool must_divide) {
  const std::int64_t stated = config.SizeOr(kHeadDimKeys, defaults.head_dim);
  if (stated > 0) return stated;
  if (must_divide) {
    config.RequireMultiple(kHeadKeys, sizes.hidden, sizes.heads,
                           "the width must be a multiple of the number of attention heads");
  }
  return sizes.hidden >= sizes.heads ? sizes.hidden / sizes.heads : 1;
}

void CheckKvHeads(const ConfigView& config, const ClassDefaults& defaults,
                  const DecoderSizes& sizes) {
  if (sizes.heads % sizes.kv_heads != 0 && config.Find(kKvHeadKeys) == nullptr) {
    config.Reject({}, "missing-key",
                  fmt::format("\"num_key_value_heads\" is missing, and {}, the default of {}, does "
                              "not divide the {} attention heads",
                              sizes.kv_heads, defaults.class_name, sizes.heads));
    return;
  }
  config.RequireMultiple(
      kKvHeadKeys, sizes.heads, sizes.kv_heads,
      "the number of attention heads must be a multiple of the number of key/value heads");
}

// The part of a head that a class rotates when the file does not say: configuration_glm.py,
// configuration_phi.py, configuration_stablelm.py, configuration_nemotron.py,
// configuration_gpt_neox.py, configuration_qwen3_next.py.
double DefaultRotaryPart(std::string_view type) {
  for (std::string_view half : {"glm", "glm4", "glm4_moe", "phi", "nemotron"}) {
    if (type == half) return 0.5;
  }
  for (std::string_view quarter :
       {"gpt_neox", "stablelm", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    if (type == quarter) return 0.25;
  }
  return 1.0;
}

// Dimensions of a head that are rotated: `rotary_dim`, or a part of the head.
std::int64_t ReadRotaryDim(const ConfigView& config, std::string_view type, std::int64_t head_dim) {
  const std::int64_t stated = config.CountOr({"rotary_dim"}, 0);
  if (stated > 0) return stated;
  double part = config.NumberOr({"partial_rotary_factor", "rotary_pct", "rope_pct"}, -1.0);
  // transformers 5 moved it: configuration_utils.py, rope_parameters.
  if (part < 0) part = config.Section("rope_parameters").NumberOr({"partial_rotary_factor"}, -1.0);
  if (part < 0 || part > 1) part = DefaultRotaryPart(type);
  return static_cast<std::int64_t>(static_cast<double>(head_dim) * part);
}

void AddHead(ReadContext& context, const DecoderPlan& plan, TensorList* list) {
  const std::int64_t width = plan.embedding_width > 0 ? plan.embedding_width : plan.sizes.hidden;
  const std::int64_t labels = context.root.CountOr({"num_labels"}, 0);
  const Node* names = context.root.Find({"id2label"});
  // PretrainedConfig: two labels unless id2label or num_labels says otherwise.
  const std::int64_t rows = labels > 0 ? labels
                            : names != nullptr && !names->members.empty()
                                ? static_cast<std::int64_t>(names->members.size())
                                : 2;
  switch (context.head) {
    case HeadKind::kLanguageModel:
      context.spec.tied_head = IsTied(context, plan.tied_by_default);
      if (context.spec.tied_head) return;
      list->Linear(Joined(context.head_prefix, plan.names.head), width, plan.sizes.vocab,
                   Part::kHead, plan.head_bias);
      return;
    case HeadKind::kSequenceClassifier:
      list->Linear("score", width, rows, Part::kHead);
      return;
    case HeadKind::kTokenClassifier:
      list->Linear("score", width, rows, Part::kHead, true);
      return;
    case HeadKind::kQuestionAnswering:
      list->Linear("qa_outputs", width, 2, Part::kHead, true);
      return;
    case HeadKind::kNone:
      return;
  }
}

}  // namespace

const Keys kHiddenKeys = {"hidden_size", "n_embd", "d_model", "n_embed"};
const Keys kLayerKeys = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
const Keys kHeadKeys = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
const Keys kKvHeadKeys = {"num_key_value_heads", "num_kv_heads", "n_head_kv"};
const Keys kHeadDimKeys = {"head_dim", "kv_channels", "attention_head_dim"};
const Keys kIntermediateKeys = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
const Keys kVocabKeys = {"vocab_size", "padded_vocab_size"};
const Keys kPositionKeys = {"max_position_embeddings", "n_positions",
                            "max_sequence_length",     "max_seq_len",
                            "model_max_length",        "seq_length"};

DecoderSizes ReadDecoderSizes(const ConfigView& config, const ClassDefaults& defaults,
                              const SizeRules& rules) {
  DecoderSizes sizes;
  sizes.vocab = config.Size(kVocabKeys, defaults.vocab);
  sizes.hidden = config.Size(kHiddenKeys, defaults.hidden);
  // Files of transformers 5 may list the kinds of the layers and leave out their number.
  const Node* blocks = config.Find({"layers_block_type"});
  const std::int64_t listed =
      blocks == nullptr ? 0 : static_cast<std::int64_t>(blocks->items.size());
  const bool is_listed = listed > 0 && listed <= kMaxLayers && config.Find(kLayerKeys) == nullptr;
  sizes.layers = is_listed ? listed : config.Size(kLayerKeys, defaults.layers, kMaxLayers);
  if (rules.has_attention) {
    sizes.heads = config.Size(kHeadKeys, defaults.heads);
    sizes.kv_heads =
        config.SizeOr(kKvHeadKeys, defaults.kv_heads > 0 ? defaults.kv_heads : sizes.heads);
    sizes.head_dim = ReadHeadDim(config, defaults, sizes, rules.heads_divide);
    CheckKvHeads(config, defaults, sizes);
  }
  if (rules.mlp_ratio > 0) {
    sizes.intermediate = config.SizeOr(kIntermediateKeys, rules.mlp_ratio * sizes.hidden);
  } else if (rules.has_mlp) {
    sizes.intermediate = config.Size(kIntermediateKeys, defaults.intermediate);
  }
  return sizes;
}

DecoderPlan PlanDecoder(ReadContext& context, const SizeRules& rules) {
  ConfigView& config = context.text;
  const ClassDefaults& defaults = DefaultsOf(context.text_type);
  config.SetClass(defaults.class_name);
  DecoderPlan plan;
  plan.sizes = ReadDecoderSizes(config, defaults, rules);
  plan.tied_by_default = defaults.tied;
  plan.dropout =
      config.NumberOr({"resid_pdrop", "hidden_dropout", "residual_dropout", "dropout"}, 0);
  context.spec.max_positions = config.CountOr(kPositionKeys, defaults.max_positions);

  plan.layer.hidden = plan.sizes.hidden;
  spec::Attention& attention = plan.layer.kind.attention;
  attention.heads = plan.sizes.heads;
  attention.kv_heads = plan.sizes.kv_heads;
  attention.head_dim = attention.value_head_dim = plan.sizes.head_dim;
  attention.rotary_dim = ReadRotaryDim(config, context.text_type, plan.sizes.head_dim);
  plan.layer.kind.mlp.intermediate = plan.sizes.intermediate;
  plan.layer.kind.mlp.activation = ReadActivation(
      config, {"hidden_activation", "hidden_act", "activation_function"}, Activation::kSilu);
  return plan;
}

std::vector<bool> ReadLayerTypes(const ConfigView& config, Keys words,
                                 std::vector<bool> otherwise) {
  const Keys keys = {"layer_types", "layers_block_type"};
  const Node* types = config.Find(keys);
  if (types == nullptr) return otherwise;
  if (types->kind != NodeKind::kArray) {
    config.Reject(keys, "wrong-type", "the kinds of the layers must be a list of words");
    return otherwise;
  }
  if (types->items.size() != otherwise.size()) {
    config.Reject(keys, "wrong-length",
                  fmt::format("\"layer_types\" has {} entries for {} layers", types->items.size(),
                              otherwise.size()));
    return otherwise;
  }
  for (std::size_t l = 0; l < otherwise.size(); ++l) {
    otherwise[l] = std::ranges::find(words, types->items[l].text) != words.end();
  }
  return otherwise;
}

std::vector<std::int64_t> ReadWindows(const ConfigView& config, std::int64_t layers,
                                      std::int64_t window, bool (*is_windowed)(std::int64_t)) {
  std::vector<bool> windowed(static_cast<std::size_t>(layers));
  for (std::int64_t l = 0; l < layers; ++l) windowed[static_cast<std::size_t>(l)] = is_windowed(l);
  windowed = ReadLayerTypes(config, {"sliding_attention", "chunked_attention"}, windowed);
  std::vector<std::int64_t> windows(windowed.size(), 0);
  for (std::size_t l = 0; l < windows.size(); ++l) windows[l] = windowed[l] ? window : 0;
  return windows;
}

bool IsTied(const ReadContext& context, bool class_default) {
  const bool in_root = context.root.FlagOr({"tie_word_embeddings"}, class_default);
  return context.text.FlagOr({"tie_word_embeddings"}, in_root);
}

spec::Activation ReadActivation(const ConfigView& config, Keys keys, Activation fallback) {
  const std::string name = config.TextOr(keys, "");
  if (name.empty()) return fallback;
  if (name == "silu" || name == "swish" || name == "swiglu") return Activation::kSilu;
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "gelu_new" || name == "gelu_fast") return Activation::kGeluNew;
  if (name == "quick_gelu") return Activation::kQuickGelu;
  if (name == "relu") return Activation::kRelu;
  if (name == "relu2") return Activation::kRelu2;
  // The others of transformers' table (transformers/activations.py, ACT2CLS).
  const std::vector<std::string> known = {"silu",
                                          "swish",
                                          "gelu",
                                          "gelu_python",
                                          "gelu_pytorch_tanh",
                                          "gelu_new",
                                          "gelu_10",
                                          "gelu_fast",
                                          "relu",
                                          "gelu_accurate",
                                          "gelu_python_tanh",
                                          "quick_gelu",
                                          "relu2",
                                          "leaky_relu",
                                          "linear",
                                          "laplace",
                                          "mish",
                                          "prelu",
                                          "relu6",
                                          "sigmoid",
                                          "tanh",
                                          "xielu",
                                          "hardswish",
                                          "sqrtsoftplus"};
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string near = NearestWord(name, known);
    config.Warn(keys, "unknown-activation",
                fmt::format("\"{}\" is no activation that transformers knows: counted as a "
                            "function of one kernel that keeps its input",
                            name),
                near);
  }
  return Activation::kOther;
}

void AppendLayers(spec::Stack* stack, const std::vector<LayerPlan>& plans,
                  const std::vector<std::int32_t>& kind_of) {
  const auto offset = static_cast<std::int32_t>(stack->kinds.size());
  for (const LayerPlan& plan : plans) stack->kinds.push_back(EmitLayer(plan));
  std::int64_t first = stack->Layers();
  for (const std::int32_t kind : kind_of) {
    if (!stack->runs.empty() && stack->runs.back().kind == kind + offset) {
      ++stack->runs.back().count;
    } else {
      stack->runs.push_back({.kind = kind + offset, .first = first, .count = 1});
    }
    ++first;
  }
}

void FinishDecoder(ReadContext& context, DecoderPlan plan) {
  if (plan.kinds.empty()) {
    plan.kinds.push_back(plan.layer);
    plan.kind_of.assign(static_cast<std::size_t>(plan.sizes.layers), 0);
  }
  const bool bare = context.head == HeadKind::kNone;
  const std::string base(context.has_base ? context.base : bare ? "" : plan.names.base);
  const LayerPlan& layer = plan.kinds.front();
  const std::int64_t hidden = plan.sizes.hidden;
  const std::int64_t width = plan.embedding_width > 0 ? plan.embedding_width : hidden;
  const std::int64_t rows = plan.embedding_rows > 0 ? plan.embedding_rows : plan.sizes.vocab;

  spec::Stack stack;
  stack.role = spec::StackRole::kDecoder;
  stack.layer_prefix = Joined(base, plan.names.layers);
  stack.hidden = hidden;
  stack.positions = plan.positions;
  stack.dropout = plan.dropout;
  stack.final_norm = plan.has_final_norm ? layer.kind.norm : NormKind::kNone;
  TensorList before(&stack.before);
  before.Embedding(Joined(base, plan.names.token_embedding), rows, width, Part::kTokenEmbedding);
  if (!plan.project_in.empty()) {
    before.Linear(Joined(base, plan.project_in), width, hidden, Part::kProjector);
  }
  if (!plan.position_embedding.empty()) {
    before.Embedding(Joined(base, plan.position_embedding), plan.position_rows, hidden,
                     Part::kPositionEmbedding);
  }
  if (!plan.embedding_norm.empty()) {
    before.Norm(Joined(base, plan.embedding_norm), hidden, layer.kind.norm, layer.norm_bias,
                Part::kEmbeddingNorm);
  }
  for (spec::TensorSpec& tensor : plan.extra) {
    tensor.name = Joined(base, tensor.name);
    stack.before.push_back(std::move(tensor));
  }
  AppendLayers(&stack, plan.kinds, plan.kind_of);
  TensorList after(&stack.after);
  if (plan.has_final_norm && layer.kind.norm_has_weight) {
    after.Norm(Joined(base, plan.names.final_norm), hidden, layer.kind.norm, layer.norm_bias,
               Part::kFinalNorm);
  }
  if (!plan.project_out.empty()) {
    after.Linear(Joined(base, plan.project_out), hidden, width, Part::kProjector);
  }
  AddHead(context, plan, &after);
  context.spec.vocab = plan.sizes.vocab;
  context.spec.has_head = context.head == HeadKind::kLanguageModel;
  context.spec.stacks.push_back(std::move(stack));
}

}  // namespace trainfit::readers
