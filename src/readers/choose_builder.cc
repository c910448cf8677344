#include "readers/choose_builder.h"

#include <fmt/format.h>

#include <cctype>

#include "base/nearest_word.h"
#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

std::string Letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '_' && c != '-') {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

// "Qwen2MoeForCausalLM" → "qwen2_moe": how most model types follow from the class name.
std::string TypeOfClass(std::string_view architecture) {
  std::size_t end = architecture.find("For");
  if (end == std::string_view::npos) end = architecture.find("LMHead");
  if (end == std::string_view::npos) end = architecture.find("Model");
  const std::string wanted = Letters(architecture.substr(0, end));
  if (wanted.empty()) return "";
  for (const std::string& type : KnownModelTypes()) {
    if (type == architecture || Letters(type) == wanted) return type;
  }
  return "";
}

bool HasMainSizes(const ConfigView& config) {
  return config.Find(kHiddenKeys) != nullptr && config.Find(kLayerKeys) != nullptr &&
         config.Find(kHeadKeys) != nullptr;
}

// The architecture that a file's keys fit, or empty.
std::string_view GuessByKeys(const ReadContext& context) {
  const ConfigView& config = context.root;
  if (config.Has("down_block_types") && config.Has("block_out_channels"))
    return "UNet2DConditionModel";
  if (config.Has("encoder_layers") && config.Has("decoder_layers") && config.Has("d_model")) {
    return "bart";
  }
  if (config.Has("d_kv") && config.Has("d_ff")) return "t5";
  if (!HasMainSizes(config)) return "";
  if (context.spec.architecture.ends_with("ForMaskedLM") || config.Has("type_vocab_size")) {
    return "bert";
  }
  if (config.Has("kv_lora_rank")) return "deepseek_v3";
  if (config.CountOr({"n_routed_experts"}, 0) > 0) return "deepseek";
  if (config.CountOr({"num_local_experts", "num_experts"}, 0) > 0) {
    return config.Has("moe_intermediate_size") ? "qwen3_moe" : "mixtral";
  }
  if (config.Has("n_embd")) return "gpt2";
  return config.Has("intermediate_size") ? "llama" : "";
}

void WarnGuess(const ReadContext& context, std::string_view type, std::string_view guess) {
  const std::string near = type.empty() ? "" : NearestWord(type, KnownModelTypes());
  context.root.Warn(
      {"model_type"}, "unknown-model-type",
      type.empty()
          ? fmt::format("there is no \"model_type\": read as \"{}\", which its other keys fit",
                        guess)
          : fmt::format("\"{}\" is no known model_type: read as \"{}\", which its keys fit", type,
                        guess),
      near.empty() ? "counts and memory may differ from the real model; compare the parameter count"
                   : fmt::format("\"model_type\": \"{}\", if that is what was meant", near));
}

}  // namespace

Builder ChooseBuilder(ReadContext& context) {
  const std::string& type = context.spec.model_type;
  if (const Builder builder = FindBuilder(type); builder != nullptr) return builder;
  const std::string of_class = TypeOfClass(context.spec.architecture);
  const std::string guess = of_class.empty() ? std::string(GuessByKeys(context)) : of_class;
  if (const Builder builder = FindBuilder(guess); builder != nullptr) {
    // The class alone says it when there is no type (diffusers, old files).
    if (!type.empty() || of_class.empty()) WarnGuess(context, type, guess);
    if (!of_class.empty()) context.text_type = guess;
    return builder;
  }
  const ConfigView text = context.root.Section("text_config");
  if (FindBuilder(text.TextOr({"model_type"}, "")) != nullptr) return BuildLanguagePart;
  const std::string near = NearestWord(type, KnownModelTypes());
  context.root.Reject({"model_type"}, "unknown-model-type",
                      type.empty() ? "there is no \"model_type\", and no known architecture has "
                                     "keys like these"
                                   : fmt::format("\"{}\" is no known model_type, and no known "
                                                 "architecture has keys like these",
                                                 type),
                      near.empty() ? "" : fmt::format("\"model_type\": \"{}\"", near));
  return nullptr;
}

}  // namespace trainfit::readers
