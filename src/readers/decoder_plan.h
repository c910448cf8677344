// A stack of decoder layers as a plan: sizes, names, kinds of layers, and what stands before and
// after them. FinishDecoder turns it into the model's text stack.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "readers/class_defaults.h"
#include "readers/config_view.h"
#include "readers/layer_plan.h"
#include "spec/model.h"

namespace trainfit::readers {

// What stands on top of the last layer, by the name of the class in `architectures`.
enum class HeadKind {
  kLanguageModel,
  kSequenceClassifier,
  kTokenClassifier,
  kQuestionAnswering,
  kNone
};

// What a builder reads from and writes to.
struct ReadContext {
  explicit ReadContext(const ConfigView& view) : root(view), text(view) {}

  ConfigView root;
  ConfigView text;  // the part that describes the language model: text_config, or the root itself
  spec::ModelSpec spec;
  HeadKind head = HeadKind::kLanguageModel;
  // model_type of the part that describes the language model.
  std::string text_type;
  // Inside a model of several parts: replaces the decoder's own module prefix ("model.").
  bool has_base = false;
  std::string base;
  std::string head_prefix;
};

struct DecoderSizes {
  std::int64_t vocab = 1;
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t intermediate = 1;
};

// The names under which configuration files state the main sizes.
extern const Keys kHiddenKeys;
extern const Keys kLayerKeys;
extern const Keys kHeadKeys;
extern const Keys kKvHeadKeys;
extern const Keys kHeadDimKeys;
extern const Keys kIntermediateKeys;
extern const Keys kVocabKeys;
extern const Keys kPositionKeys;

struct DecoderNames {
  std::string_view base = "model.";
  std::string_view layers = "layers.{l}.";
  std::string_view token_embedding = "embed_tokens";
  std::string_view final_norm = "norm";
  std::string_view head = "lm_head";
};

struct DecoderPlan {
  DecoderSizes sizes;
  DecoderNames names;
  LayerPlan layer;  // what all layers have in common; the only kind unless Vary made others
  std::vector<LayerPlan> kinds;
  std::vector<std::int32_t> kind_of;  // one a layer
  spec::Positions positions = spec::Positions::kRotary;
  std::string_view position_embedding;  // module; empty: none
  std::int64_t position_rows = 0;
  std::string_view embedding_norm;   // module; empty: none
  std::int64_t embedding_rows = 0;   // 0: vocab
  std::int64_t embedding_width = 0;  // 0: hidden
  std::string_view project_in;       // modules between an embedding of another width and the layers
  std::string_view project_out;
  std::vector<spec::TensorSpec> extra;  // further tensors before the layers, relative to the base
  bool has_final_norm = true;
  bool head_bias = false;
  bool tied_by_default = false;
  double dropout = 0;

  // Layers 0 … sizes.layers - 1: `key(l)` says which layers are alike, `make(l)` plans one of them.
  template <typename Key, typename Make>
  void Vary(Key key, Make make);
};

// Where families differ in what their main sizes must be.
struct SizeRules {
  std::int64_t mlp_ratio = 0;  // a missing intermediate size is this × hidden; 0: it must be there
  bool has_mlp = true;         // false: the intermediate size is not read (all layers are sparse)
  bool has_attention = true;   // false: nor are heads (Mamba)
  bool heads_divide = true;    // without a head_dim, heads must divide the width
};

// The main sizes of a decoder, checked: heads divide the width, KV heads divide the heads.
DecoderSizes ReadDecoderSizes(const ConfigView& config, const ClassDefaults& defaults,
                              const SizeRules& rules = {});

// A plan with sizes, softmax attention, rotary positions, an MLP and what the usual keys say about
// windows, dropout and activation. Families change what differs.
DecoderPlan PlanDecoder(ReadContext& context, const SizeRules& rules = {});

// Layers that `layer_types` or `layers_block_type` calls one of `words`; `otherwise`, one a layer,
// where the file has no such list.
std::vector<bool> ReadLayerTypes(const ConfigView& config, Keys words, std::vector<bool> otherwise);

// Attention window of each layer: `layer_types` where the file has it, else `window` in the layers
// that `is_windowed` names.
std::vector<std::int64_t> ReadWindows(const ConfigView& config, std::int64_t layers,
                                      std::int64_t window, bool (*is_windowed)(std::int64_t layer));

// tie_word_embeddings of the text part, else of the whole file, else the class default. Where both
// are stated the text part's decides: transformers 4 reads no other, and what it wrote at the top
// of a file of several parts is its own default.
bool IsTied(const ReadContext& context, bool class_default);

spec::Activation ReadActivation(const ConfigView& config, Keys keys, spec::Activation fallback);

// Appends the stack to context.spec, with the head that the architecture asks for.
void FinishDecoder(ReadContext& context, DecoderPlan plan);

// Appends kinds and runs to a stack: `plans[kind_of[l]]` is layer l.
void AppendLayers(spec::Stack* stack, const std::vector<LayerPlan>& plans,
                  const std::vector<std::int32_t>& kind_of);

template <typename Key, typename Make>
void DecoderPlan::Vary(Key key, Make make) {
  std::map<decltype(key(std::int64_t{0})), std::int32_t> seen;
  kinds.clear();
  kind_of.clear();
  for (std::int64_t l = 0; l < sizes.layers; ++l) {
    const auto [entry, is_new] = seen.try_emplace(key(l), static_cast<std::int32_t>(kinds.size()));
    if (is_new) kinds.push_back(make(l));
    kind_of.push_back(entry->second);
  }
}

}  // namespace trainfit::readers
