#include "validate/model_of.h"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "config/json_reader.h"
#include "readers/model_config.h"
#include "validate/frameworks_known.h"

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;

std::optional<std::int64_t> Size(const Node& arch, std::string_view key) {
  const Node* node = arch.Find(key);
  if (node == nullptr || node->kind != NodeKind::kInt) return std::nullopt;
  return node->integer;
}

std::optional<bool> Flag(const Node& arch, std::string_view key) {
  const Node* node = arch.Find(key);
  if (node == nullptr || node->kind != NodeKind::kBool) return std::nullopt;
  return node->boolean;
}

std::string Word(const Node& arch, std::string_view key) {
  const Node* node = arch.Find(key);
  return node == nullptr ? std::string() : node->text;
}

struct Sizes {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
};

Expected<Sizes> ReadSizes(const Node& arch) {
  Sizes sizes;
  struct Key {
    std::string_view name;
    std::int64_t Sizes::* member;
  };
  constexpr Key kKeys[] = {{"layers", &Sizes::layers},
                           {"hidden", &Sizes::hidden},
                           {"heads", &Sizes::heads},
                           {"ffn", &Sizes::ffn},
                           {"vocab", &Sizes::vocab}};
  for (const Key& key : kKeys) {
    const auto size = Size(arch, key.name);
    if (!size) {
      return Fail(Error("no-size", "model unknown, and its sizes lack " + std::string(key.name)));
    }
    sizes.*key.member = *size;
  }
  sizes.kv_heads = Size(arch, "kv_heads").value_or(sizes.heads);
  return sizes;
}

// Mixtures, latent attention and hybrids are more than these sizes say.
std::string MoreThanSizes(const Node& arch) {
  for (const std::string_view key : {"experts", "num_experts"}) {
    if (Size(arch, key).value_or(0) > 1) return "mixture of experts";
  }
  if (arch.Find("moe") != nullptr) return "mixture of experts";
  if (arch.Find("mla") != nullptr || arch.Find("kv_lora_rank") != nullptr) {
    return "multi-head latent attention";
  }
  if (arch.Find("pattern") != nullptr) return "hybrid layers";
  const std::string family = Word(arch, "family");
  return family.empty() || family == "gpt" || family == "llama" ? "" : "family " + family;
}

bool IsGptLike(const Node& arch) {
  for (const std::string_view key : {"swiglu", "glu"}) {
    if (const auto gated = Flag(arch, key)) return !*gated;
  }
  return Word(arch, "family") == "gpt" || Flag(arch, "learned_pos_emb").value_or(false);
}

void WriteGpt(const Node& arch, const Sizes& sizes, const GptStyle& style, JsonWriter& json) {
  json.Field("activation_function", style.activation).Field("attn_pdrop", style.dropout);
  json.Field("resid_pdrop", style.dropout).Field("embd_pdrop", style.dropout);
  json.Field("model_type", "gpt2").Field("n_layer", sizes.layers).Field("n_embd", sizes.hidden);
  json.Field("n_head", sizes.heads).Field("n_inner", sizes.ffn).Field("vocab_size", sizes.vocab);
  json.Field("n_positions", Size(arch, "max_pos").value_or(sizes.hidden));
  json.Field("tie_word_embeddings", Flag(arch, "tied").value_or(true));
}

void WriteLlama(const Node& arch, const Sizes& sizes, JsonWriter& json) {
  json.Field("model_type", "llama").Field("num_hidden_layers", sizes.layers);
  json.Field("hidden_size", sizes.hidden).Field("num_attention_heads", sizes.heads);
  json.Field("num_key_value_heads", sizes.kv_heads).Field("intermediate_size", sizes.ffn);
  json.Field("vocab_size", sizes.vocab);
  if (const auto head_dim = Size(arch, "head_dim")) json.Field("head_dim", *head_dim);
  if (const auto positions = Size(arch, "max_pos")) {
    json.Field("max_position_embeddings", *positions);
  }
  json.Field("tie_word_embeddings", Flag(arch, "tied").value_or(false));
  json.Field("attention_bias", Flag(arch, "bias").value_or(false));
  json.Field("mlp_bias", Flag(arch, "bias").value_or(false));
}

Expected<ModelPointer> Build(const std::string& name, const Node& arch, const GptStyle& style) {
  ASSIGN_OR_RETURN(std::string text, ConfigOfSizes(arch, style));
  ASSIGN_OR_RETURN(const Node root, config::ParseJson("sizes of " + name, std::move(text)));
  ASSIGN_OR_RETURN(spec::ModelSpec model, readers::ReadModelConfig(root, name, nullptr));
  model.source = "sizes that the record gives";
  return std::make_shared<const spec::ModelSpec>(std::move(model));
}

// A record may have fewer layers than the model whose name it bears.
bool Contradicts(const spec::ModelSpec& model, const Node& arch) {
  const auto layers = Size(arch, "layers");
  const auto hidden = Size(arch, "hidden");
  return (layers && *layers != model.Text().Layers()) || (hidden && *hidden != model.Text().hidden);
}

// Whether a guessed model has the size that the record gives, as people round it.
bool IsOfSize(const spec::ModelSpec& model, std::optional<double> billions) {
  constexpr double kRounding = 0.1;
  if (!billions) return true;
  const double counted = static_cast<double>(spec::ParameterCount(model)) / 1e9;
  return std::abs(counted - *billions) <= kRounding * counted;
}

Expected<ModelPointer> FromCatalog(const catalog::Catalog& catalog, const std::string& name,
                                   std::optional<double> billions) {
  auto found = catalog.FindModel(name);
  const bool is_guess = !found.has_value();
  if (is_guess) {
    ASSIGN_OR_RETURN(found, catalog.GuessModel(name));
  }
  ASSIGN_OR_RETURN(spec::ModelSpec model,
                   readers::ReadModelConfig(found->record.config, found->record.id, nullptr));
  if (is_guess && !IsOfSize(model, billions)) {
    return Fail(Error("other-size", "the model that the name seems to mean has another size"));
  }
  return std::make_shared<const spec::ModelSpec>(std::move(model));
}

Expected<ModelPointer> FindAnew(const catalog::Catalog& catalog, const Run& run) {
  // A quantized checkpoint has the shapes of the model it was made from.
  std::string name = run.model;
  for (const std::string_view suffix : {"-Int4", "-Int8", "-GPTQ", "-AWQ"}) {
    if (name.ends_with(suffix)) name = name.substr(0, name.rfind(suffix));
  }
  Expected<ModelPointer> named = FromCatalog(catalog, name, run.params_billions);
  const bool has_sizes = run.arch.kind == NodeKind::kObject && !run.arch.members.empty();
  if (named.has_value() && !(has_sizes && Contradicts(**named, run.arch))) return named;
  const FrameworkMatch match = MatchFramework(run.framework);
  const bool is_plain = match.known != nullptr && match.known->has_plain_gpt;
  if (has_sizes) return Build(run.model, run.arch, is_plain ? GptStyle{"gelu", 0} : GptStyle());
  return Fail(Error("unknown-model", "model not in the catalogue"));
}

}  // namespace

Expected<std::string> ConfigOfSizes(const Node& arch, const GptStyle& style) {
  if (const std::string more = MoreThanSizes(arch); !more.empty()) {
    return Fail(Error("more-than-sizes", "model not in the catalogue: " + more));
  }
  ASSIGN_OR_RETURN(const Sizes sizes, ReadSizes(arch));
  JsonWriter json;
  json.BeginObject();
  if (IsGptLike(arch)) {
    WriteGpt(arch, sizes, style, json);
  } else {
    WriteLlama(arch, sizes, json);
  }
  json.Field("torch_dtype", "bfloat16").EndObject();
  return json.Take();
}

Expected<ModelPointer> ModelFinder::Find(const Run& run) {
  std::string key = run.framework + " " + run.model;
  if (run.arch.document != nullptr) {
    key += run.arch.document->text.substr(run.arch.begin, run.arch.end - run.arch.begin);
  }
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(key), FindAnew(catalog_, run)).first->second;
}

}  // namespace trainfit::validate
