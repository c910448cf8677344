// What PEFT's adapter_config.json says about an adapter, as far as its tensors depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trainfit::spec {

enum class PeftType : std::uint8_t {
  kLora,
  kAdalora,
  kIa3,
  kLoha,
  kLokr,
  kVera,
  kOft,
  kBoft,
  kFourierft,
  kLayerNorm,
  kPrefix,
  kPrompt,
  kPTuning,
};

// Names of modules: suffixes in a list, or one regular expression for the whole name.
struct ModuleNames {
  std::vector<std::string> list;
  std::string expression;

  bool Any() const { return !list.empty() || !expression.empty(); }
  bool operator==(const ModuleNames&) const = default;
};

struct PeftConfig {
  PeftType type = PeftType::kLora;
  std::int64_t rank = 8;  // AdaLoRA: init_r; FourierFT: n_frequency
  bool dora = false;
  bool lora_bias = false;
  bool trains_all_biases = false;      // bias "all": BitFit beside the adapters
  bool trains_adapted_biases = false;  // bias "lora_only" and the like
  ModuleNames targets;                 // expression "all-linear": every linear module but the head
  ModuleNames excluded;
  std::vector<std::string> target_parameters;
  std::vector<std::string> feedforward;  // IA³
  std::vector<std::string> modules_to_save;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;  // expressions of names
  std::vector<std::int64_t> layers;                                // none: all
  std::int64_t block_size = 0;                                     // OFT, BOFT
  std::int64_t blocks = 0;
  std::int64_t butterflies = 1;
  bool shares_blocks = false;
  std::int64_t virtual_tokens = 0;
  bool prefix_projection = false;
  std::int64_t encoder_hidden = 0;  // 0: the width of a token
  bool operator==(const PeftConfig&) const = default;
};

}  // namespace trainfit::spec
