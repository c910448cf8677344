#include "readers/shape_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "config/json_reader.h"
#include "readers/config_view.h"
#include "readers/model_config.h"
#include "readers/registry.h"

namespace trainfit::readers {
namespace {

struct ShapeKey {
  std::string_view written;
  std::string_view config;
};
constexpr ShapeKey kShapeKeys[] = {
    {"experts", "num_local_experts"},
    {"expert_ffn", "moe_intermediate_size"},
    {"ffn", "intermediate_size"},
    {"head_dim", "head_dim"},
    {"heads", "num_attention_heads"},
    {"hidden", "hidden_size"},
    {"kv_heads", "num_key_value_heads"},
    {"layers", "num_hidden_layers"},
    {"seq", "max_position_embeddings"},
    {"top_k", "num_experts_per_tok"},
    {"vocab", "vocab_size"},
};

using Sizes = std::map<std::string, std::int64_t, std::less<>>;

// Megatron-LM's padded vocabulary of GPT-2, which papers count with; Llama's.
constexpr std::int64_t kGptVocab = 51200;
constexpr std::int64_t kLlamaVocab = 32000;

std::int64_t UpTo256(double width) {
  return (static_cast<std::int64_t>(std::ceil(width)) + 255) / 256 * 256;
}

void Assume(std::string what, Diagnostics* warnings) {
  if (warnings == nullptr) return;
  Diagnostic warning = Error("assumed-shape", std::move(what));
  warning.severity = Severity::kNote;
  warnings->push_back(std::move(warning));
}

Expected<spec::ModelSpec> Build(const std::string& text, std::string_view type, const Sizes& sizes,
                                Diagnostics* warnings) {
  JsonWriter json;
  json.BeginObject();
  json.Field("model_type", type).Field("torch_dtype", "bfloat16");
  for (const auto& [key, value] : sizes) json.Field(key, value);
  json.EndObject();
  ASSIGN_OR_RETURN(const config::Node root, config::ParseJson("shape " + text, json.Take()));
  ASSIGN_OR_RETURN(spec::ModelSpec model, ReadModelConfig(root, text, warnings));
  model.source = "the shape that was written";
  return model;
}

Expected<Sizes> ReadSizes(std::string_view list) {
  Sizes sizes;
  std::vector<std::string> words;
  for (const ShapeKey& key : kShapeKeys) words.emplace_back(key.written);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t equals = item.find('=');
    const std::string key(item.substr(0, equals));
    std::int64_t value = 0;
    const char* end = item.data() + item.size();
    const bool is_number = equals != std::string_view::npos &&
                           std::from_chars(item.data() + equals + 1, end, value).ptr == end;
    if (!is_number || value < 1 || value > kMaxDimension) {
      return Fail(Error("bad-shape",
                        fmt::format("{} is no \"key=number\" with a number from 1 to {}",
                                    Quoted(item), kMaxDimension),
                        "layers=30,hidden=3072,heads=32"));
    }
    const auto* known = std::ranges::find(kShapeKeys, key, &ShapeKey::written);
    const auto* config = std::ranges::find(kShapeKeys, key, &ShapeKey::config);
    if (known == std::end(kShapeKeys) && config == std::end(kShapeKeys)) {
      return Fail(Error("bad-shape", fmt::format("a shape has no {}", Quoted(key)),
                        NearestWord(key, words)));
    }
    const std::string name(known != std::end(kShapeKeys) ? known->config : key);
    if (!sizes.emplace(name, value).second) {
      return Fail(Error("bad-shape", fmt::format("{} is there twice", Quoted(key))));
    }
  }
  return sizes;
}

Expected<spec::ModelSpec> ReadWritten(const std::string& text, Diagnostics* warnings) {
  const std::size_t colon = text.find(':');
  const std::string family = text.substr(0, colon);
  const bool is_gpt = family == "gpt";
  const std::string type = is_gpt ? "gpt2" : family;
  if (FindBuilder(type) == nullptr) {
    return Fail(Error("unknown-model-type", fmt::format("there is no family {}", Quoted(family)),
                      NearestWord(family, KnownModelTypes())));
  }
  ASSIGN_OR_RETURN(Sizes sizes, ReadSizes(std::string_view(text).substr(colon + 1)));
  if (!sizes.contains("vocab_size")) {
    const std::int64_t vocab = is_gpt ? kGptVocab : kLlamaVocab;
    Assume(fmt::format("a vocabulary of {} is assumed: vocab=… says another", vocab), warnings);
    sizes["vocab_size"] = vocab;
  }
  const auto hidden = sizes.find("hidden_size");
  if (!sizes.contains("intermediate_size") && hidden != sizes.end()) {
    // GPT-2's four times the width; with gates two thirds of that (Shazeer, arXiv 2002.05202).
    const std::int64_t width =
        is_gpt ? 4 * hidden->second : UpTo256(8.0 * static_cast<double>(hidden->second) / 3.0);
    if (!is_gpt) {
      Assume(fmt::format("an MLP {} wide is assumed: ffn=… says another", width), warnings);
    }
    sizes["intermediate_size"] = width;
  }
  return Build(text, type, sizes, warnings);
}

struct Typical {
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t ffn;
  std::int64_t vocab;
  std::string_view of;
};
// Shapes that models of these sizes have (config.json of each).
constexpr Typical kTypical[] = {
    {16, 2048, 32, 8, 8192, 128256, "Llama 3.2 1B"},
    {28, 3072, 24, 8, 8192, 128256, "Llama 3.2 3B"},
    {32, 4096, 32, 32, 11008, 32000, "Llama 2 7B"},
    {32, 4096, 32, 8, 14336, 128256, "Llama 3.1 8B"},
    {40, 5120, 40, 40, 13824, 32000, "Llama 2 13B"},
    {60, 6656, 52, 52, 17920, 32000, "LLaMA 30B"},
    {80, 8192, 64, 8, 28672, 32000, "Llama 2 70B"},
    {126, 16384, 128, 8, 53248, 128256, "Llama 3.1 405B"},
};

double CountOf(const Typical& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto keys = hidden * static_cast<double>(shape.kv_heads) / static_cast<double>(shape.heads);
  const double layer = 2 * hidden * hidden + 2 * hidden * keys +
                       3 * hidden * static_cast<double>(shape.ffn) + 2 * hidden;
  return static_cast<double>(shape.layers) * layer + 2 * static_cast<double>(shape.vocab) * hidden +
         hidden;
}

// Llama's proportions at another size: heads of 64 or 128, about 128 of width a layer.
Typical Proportional(double params) {
  Typical best = kTypical[0];
  double error = INFINITY;
  for (const std::int64_t head_dim : {64, 128}) {
    for (std::int64_t heads = 1; heads <= 256; ++heads) {
      const std::int64_t hidden = heads * head_dim;
      const std::int64_t ffn = UpTo256(8.0 * static_cast<double>(hidden) / 3.0);
      Typical shape = {1, hidden, heads, heads, ffn, kLlamaVocab, ""};
      const double one = CountOf(shape);
      shape.layers = 2;
      const double each = CountOf(shape) - one;
      shape.layers = std::max<std::int64_t>(2, std::llround((params - one) / each) + 1);
      const double aspect = static_cast<double>(hidden) / static_cast<double>(shape.layers);
      const double off =
          std::abs(std::log(CountOf(shape) / params)) + 0.1 * std::abs(std::log(aspect / 128.0));
      if (shape.layers <= kMaxLayers && off < error) {
        error = off;
        best = shape;
      }
    }
  }
  return best;
}

// Parameters of "7B", "1.3b", "350M"; 0: it is none.
double BareSize(std::string_view text) {
  if (text.size() < 2 || text.size() > 12) return 0;
  const char unit = text.back();
  const double scale = unit == 'B' || unit == 'b' ? 1e9 : unit == 'M' || unit == 'm' ? 1e6 : 0;
  double number = 0;
  const std::string digits(text.substr(0, text.size() - 1));
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number, std::chars_format::fixed);
  const bool is_number = read.ec == std::errc() && read.ptr == end && number > 0;
  return is_number ? number * scale : 0;
}

Expected<spec::ModelSpec> OfSize(const std::string& text, double params, Diagnostics* warnings) {
  if (params < 1e7 || params > 2e12) {
    return Fail(Error("bad-shape",
                      fmt::format("{}: a typical shape is known from 10M to 2000B", Quoted(text)),
                      "gpt:layers=…,hidden=…,heads=…"));
  }
  const auto distance = [&](const Typical& shape) {
    return std::abs(std::log(CountOf(shape) / params));
  };
  const Typical* near = std::ranges::min_element(kTypical, {}, distance);
  constexpr double kRounding = 0.1;  // as names round sizes
  const bool is_near = distance(*near) < kRounding;
  const Typical shape = is_near ? *near : Proportional(params);
  Assume(
      fmt::format("{} is a size, no model: {} is assumed ({} layers, width {}, MLP {}, {} heads, "
                  "{} of them with keys, vocabulary {})",
                  text,
                  is_near ? fmt::format("the shape of {}", shape.of)
                          : std::string("a shape in Llama's proportions"),
                  shape.layers, shape.hidden, shape.ffn, shape.heads, shape.kv_heads, shape.vocab),
      warnings);
  return Build(text, "llama",
               {{"num_hidden_layers", shape.layers},
                {"hidden_size", shape.hidden},
                {"intermediate_size", shape.ffn},
                {"num_attention_heads", shape.heads},
                {"num_key_value_heads", shape.kv_heads},
                {"vocab_size", shape.vocab},
                {"max_position_embeddings", 4096}},
               warnings);
}

}  // namespace

bool IsShapeText(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  if (text.substr(colon).starts_with("://")) return false;  // an address
  return text.find('=', colon) != std::string_view::npos &&
         text.substr(0, colon).find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
             "WXYZ0123456789_-") == std::string_view::npos;
}

std::optional<Expected<spec::ModelSpec>> ReadShapeText(const std::string& text,
                                                       Diagnostics* warnings) {
  if (IsShapeText(text)) return ReadWritten(text, warnings);
  if (const double params = BareSize(text); params > 0) return OfSize(text, params, warnings);
  return std::nullopt;
}

}  // namespace trainfit::readers
