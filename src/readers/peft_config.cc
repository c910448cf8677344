#include "readers/peft_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "readers/config_view.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::PeftType;

struct TypeRow {
  std::string_view name;
  PeftType type;
};
// peft/utils/peft_types.py.
constexpr TypeRow kTypes[] = {
    {"ADALORA", PeftType::kAdalora},
    {"BOFT", PeftType::kBoft},
    {"FOURIERFT", PeftType::kFourierft},
    {"IA3", PeftType::kIa3},
    {"LN_TUNING", PeftType::kLayerNorm},
    {"LOHA", PeftType::kLoha},
    {"LOKR", PeftType::kLokr},
    {"LORA", PeftType::kLora},
    {"OFT", PeftType::kOft},
    {"PREFIX_TUNING", PeftType::kPrefix},
    {"PROMPT_TUNING", PeftType::kPrompt},
    {"P_TUNING", PeftType::kPTuning},
    {"VERA", PeftType::kVera},
};

// Strings of a list, or the one string as an expression.
spec::ModuleNames ReadNames(const ConfigView& config, std::string_view key) {
  spec::ModuleNames names;
  const Node* node = config.Find({key});
  if (node == nullptr) return names;
  if (node->kind == NodeKind::kString) {
    names.expression = node->text;
    return names;
  }
  for (const Node& item : node->items) {
    if (item.kind == NodeKind::kString) names.list.push_back(item.text);
  }
  const bool is_list = node->kind == NodeKind::kArray && names.list.size() == node->items.size();
  if (!is_list) config.Reject({key}, "wrong-type", "a list of names, or one string");
  return names;
}

std::vector<std::int64_t> ReadLayers(const ConfigView& config) {
  const Node* node = config.Find({"layers_to_transform"});
  if (node == nullptr) return {};
  if (node->kind == NodeKind::kInt) return {node->integer};
  std::vector<std::int64_t> layers;
  for (const Node& item : node->items) {
    if (item.kind == NodeKind::kInt) layers.push_back(item.integer);
  }
  if (layers.size() != node->items.size() || node->kind != NodeKind::kArray) {
    config.Reject({"layers_to_transform"}, "wrong-type", "a number of a layer, or a list of them");
  }
  return layers;
}

void ReadBlocks(const ConfigView& config, spec::PeftConfig* peft) {
  if (peft->type == PeftType::kOft) {
    peft->blocks = config.CountOr({"r"}, 0);
    peft->block_size = config.CountOr({"oft_block_size"}, 32);
    peft->shares_blocks = config.FlagOr({"block_share"}, false);
  }
  if (peft->type == PeftType::kBoft) {
    peft->block_size = config.CountOr({"boft_block_size"}, 4);
    peft->blocks = config.CountOr({"boft_block_num"}, 0);
    peft->butterflies = config.SizeOr({"boft_n_butterfly_factor"}, 1);
  }
}

std::int64_t ReadRank(const ConfigView& config, PeftType type) {
  if (type == PeftType::kAdalora) return config.SizeOr({"init_r"}, 12);
  if (type == PeftType::kFourierft) return config.SizeOr({"n_frequency"}, 1000);
  if (type == PeftType::kOft) return 1;
  return config.SizeOr({"r"}, type == PeftType::kVera ? 256 : 8);
}

}  // namespace

Expected<spec::PeftConfig> ReadPeftConfig(const Node& root) {
  if (root.kind != NodeKind::kObject) {
    return Fail(ErrorAt(root.Span(), "wrong-type", "an adapter's configuration must be an object"));
  }
  Complaints complaints;
  const ConfigView config(&root, &root, &complaints);
  spec::PeftConfig peft;
  const std::string type = config.TextOr({"peft_type"}, "LORA");
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::name);
  if (row == std::end(kTypes)) {
    return Fail(ErrorAt(root.Find("peft_type")->Span(), "unknown-adapter",
                        fmt::format("adapters of the kind \"{}\" are not counted", type)));
  }
  peft.type = row->type;
  peft.rank = ReadRank(config, peft.type);
  peft.dora = config.FlagOr({"use_dora"}, false);
  peft.lora_bias = config.FlagOr({"lora_bias"}, false);
  const std::string bias = config.TextOr({"bias"}, "none");
  peft.trains_all_biases = bias == "all";
  peft.trains_adapted_biases = bias.ends_with("_only");
  peft.targets = ReadNames(config, "target_modules");
  peft.excluded = ReadNames(config, "exclude_modules");
  peft.target_parameters = ReadNames(config, "target_parameters").list;
  peft.feedforward = ReadNames(config, "feedforward_modules").list;
  peft.modules_to_save = ReadNames(config, "modules_to_save").list;
  peft.layers = ReadLayers(config);
  const ConfigView ranks = config.Section("rank_pattern");
  for (const config::Member& member : ranks.Members()) {
    peft.rank_pattern.emplace_back(member.key, ranks.SizeOr({member.key}, peft.rank));
  }
  ReadBlocks(config, &peft);
  peft.virtual_tokens =
      config.Has("num_virtual_tokens") ? config.SizeOr({"num_virtual_tokens"}, 1) : 0;
  peft.prefix_projection = config.FlagOr({"prefix_projection"}, false);
  peft.encoder_hidden =
      config.Has("encoder_hidden_size") ? config.SizeOr({"encoder_hidden_size"}, 1) : 0;
  const bool is_prompt = peft.type == PeftType::kPrefix || peft.type == PeftType::kPrompt ||
                         peft.type == PeftType::kPTuning;
  if (is_prompt && peft.virtual_tokens == 0) {
    config.Reject({}, "missing-key", "\"num_virtual_tokens\" is missing");
  }
  if (is_prompt && config.TextOr({"encoder_reparameterization_type"}, "MLP") != "MLP") {
    config.Reject({"encoder_reparameterization_type"}, "unknown-adapter",
                  "prompt encoders other than MLP are not counted");
  }
  if (!is_prompt && !peft.targets.Any() && peft.target_parameters.empty()) {
    config.Reject(
        {}, "missing-key",
        "\"target_modules\" is missing; what PEFT takes for a model type is not known here");
  }
  if (!complaints.errors.empty()) return Fail(std::move(complaints.errors));
  return peft;
}

}  // namespace trainfit::readers
