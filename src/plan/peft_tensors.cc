#include "plan/peft_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/pattern.h"
#include "plan/adapters.h"

namespace trainfit::plan {
namespace {

using spec::Part;
using spec::PeftType;
using spec::TensorSpec;

std::int64_t Elements(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return elements;
}

// Equal, or ends in "." and the suffix.
bool EndsIn(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  return name.size() == suffix.size() || name[name.size() - suffix.size() - 1] == '.';
}

std::string_view ModuleOf(std::string_view tensor) {
  const std::size_t dot = tensor.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : tensor.substr(0, dot);
}

bool IsExpert(Part part) {
  return part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kExpertGateUp ||
         part == Part::kExpertDown;
}

// peft/utils/transformers_weight_conversion.py: where transformers 5 made one parameter of experts
// that were modules, targets by the modules' names become targets of parameters, and modules of
// these names that are still there are left out (_convert_peft_config_moe). Model types by
// transformers' conversion_mapping.py, _MODEL_TO_CONVERSION_PATTERN.
struct OldExperts {
  std::string_view gate;
  std::string_view up;
  std::string_view down;
};
constexpr OldExperts kMixtralNames = {"w1", "w3", "w2"};
constexpr OldExperts kQwenNames = {"gate_proj", "up_proj", "down_proj"};

const OldExperts* OldExpertsOf(std::string_view model_type) {
  for (const std::string_view type : {"mixtral", "minimax", "minimax_m2"}) {
    if (model_type == type) return &kMixtralNames;
  }
  for (const std::string_view type :
       {"deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5_moe", "flex_olmo",
        "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "hunyuan_v1_moe", "longcat_flash", "olmoe",
        "qwen3_moe", "qwen3_next"}) {
    if (model_type == type) return &kQwenNames;
  }
  return nullptr;
}

// Which modules a list or an expression names.
class Names {
 public:
  static Expected<Names> Of(const spec::ModuleNames& names) {
    Names matcher;
    matcher.list_ = names.list;
    if (names.expression.empty()) return matcher;
    ASSIGN_OR_RETURN(Pattern pattern, Pattern::Parse(names.expression));
    matcher.pattern_ = std::move(pattern);
    return matcher;
  }
  bool Has(std::string_view module) const {
    if (pattern_.has_value()) return pattern_->Matches(module);
    return std::ranges::any_of(list_, [&](const std::string& s) { return EndsIn(module, s); });
  }
  bool IsExpression() const { return pattern_.has_value(); }

 private:
  std::vector<std::string> list_;
  std::optional<Pattern> pattern_;
};

class Expander {
 public:
  Expander(const spec::ModelSpec& model, const spec::PeftConfig& config)
      : model_(model), config_(config) {}

  Expected<PeftTensors> Expand() {
    if (config_.type == PeftType::kPrefix || config_.type == PeftType::kPrompt ||
        config_.type == PeftType::kPTuning) {
      return Prompts();
    }
    is_all_linear_ = config_.targets.expression == "all-linear" ||
                     (config_.targets.list.size() == 1 && config_.targets.list[0] == "all-linear");
    ASSIGN_OR_RETURN(targets_, Names::Of(is_all_linear_ ? spec::ModuleNames() : config_.targets));
    ASSIGN_OR_RETURN(excluded_, Names::Of(config_.excluded));
    for (const auto& [expression, rank] : config_.rank_pattern) {
      // peft/utils/other.py, get_pattern_key.
      ASSIGN_OR_RETURN(Pattern pattern, Pattern::Parse("(.*\\.)?(" + expression + ")$"));
      ranks_.emplace_back(std::move(pattern), rank);
    }
    const bool is_listed = is_all_linear_ || !targets_.IsExpression();
    if (config_.type == PeftType::kLora && is_listed) old_ = OldExpertsOf(model_.model_type);
    if (old_ != nullptr && IsNamed(old_->gate) != IsNamed(old_->up)) {
      return Fail(Error("bad-adapter",
                        fmt::format("{} and {} are one parameter: both are targets, or neither is",
                                    old_->gate, old_->up)));
    }
    ForEachTensor();
    if (!error_.empty()) return Fail(Error("bad-adapter", error_));
    if (adapted_ == 0) {
      return Fail(Error("no-lora-target", fmt::format("{} has no module of these names", model_.id),
                        "all-linear"));
    }
    return std::move(result_);
  }

 private:
  // Whether the targets name this old module of experts.
  bool IsNamed(std::string_view old) const {
    return is_all_linear_ ||
           std::ranges::any_of(config_.targets.list,
                               [&](const std::string& name) { return EndsIn(name, old); });
  }

  // Prompts in front of the input, or keys and values in every layer.
  Expected<PeftTensors> Prompts() {
    const spec::Stack& text = model_.Text();
    const std::int64_t tokens = config_.virtual_tokens;
    const std::int64_t layers = text.Layers();
    if (model_.stacks.size() > 1 || layers == 0) {
      return Fail(
          Error("bad-adapter", fmt::format("prompts in front of {}, which is no decoder alone, "
                                           "are not counted",
                                           model_.id)));
    }
    std::int64_t width = text.hidden;
    if (config_.type == PeftType::kPrefix) {
      const spec::Attention& attention = text.kinds.front().attention;
      width = attention.kv_heads * attention.head_dim;
    }
    const std::int64_t inner = config_.encoder_hidden > 0 ? config_.encoder_hidden : width;
    if (config_.type == PeftType::kPrompt) {
      Add("prompt.embedding", {tokens, width});
    } else if (config_.type == PeftType::kPrefix && !config_.prefix_projection) {
      Add("prefix.embedding", {tokens, 2 * layers * width});
    } else {
      const std::int64_t out = config_.type == PeftType::kPrefix ? 2 * layers * width : width;
      Add("prompt.embedding", {tokens, width});
      AddLinear("prompt.in", width, inner);
      if (config_.type == PeftType::kPTuning) AddLinear("prompt.middle", inner, inner);
      AddLinear("prompt.out", inner, out);
    }
    return std::move(result_);
  }

  void ForEachTensor() {
    for (const spec::Stack& stack : model_.stacks) {
      for (const TensorSpec& tensor : stack.before) VisitCopies(tensor, tensor.name, -1);
      for (const spec::LayerRun& run : stack.runs) {
        const auto& tensors = stack.kinds[static_cast<std::size_t>(run.kind)].tensors;
        for (std::int64_t layer = run.first; layer < run.first + run.count; ++layer) {
          std::string prefix = stack.layer_prefix;
          const std::size_t mark = prefix.find("{l}");
          if (mark != std::string::npos) prefix.replace(mark, 3, std::to_string(layer));
          for (const TensorSpec& tensor : tensors) {
            VisitCopies(tensor, prefix + tensor.name, layer);
          }
        }
      }
      for (const TensorSpec& tensor : stack.after) VisitCopies(tensor, tensor.name, -1);
    }
    if (model_.tied_head && model_.has_head) VisitTiedHead();
  }

  // The head is a module, though its matrix is the embedding's.
  void VisitTiedHead() {
    for (const TensorSpec& tensor : model_.Text().before) {
      if (tensor.part != Part::kTokenEmbedding || tensor.shape.size() != 2) continue;
      TensorSpec head = tensor;
      head.part = Part::kHead;
      if (targets_.Has("lm_head")) Adapt(head, "lm_head");
      return;
    }
  }

  void VisitCopies(const TensorSpec& tensor, const std::string& name, std::int64_t layer) {
    if (IsExpert(tensor.part)) return VisitExperts(tensor, name);
    if (tensor.part == Part::kRouter && old_ != nullptr && IsNamed("gate")) {
      return VisitRouter(tensor, name);
    }
    for (std::int64_t copy = 0; copy < tensor.copies; ++copy) {
      std::string one = name;
      const std::size_t mark = one.find("{e}");
      if (mark != std::string::npos) one.replace(mark, 3, std::to_string(copy));
      Visit(tensor, one, layer);
    }
  }

  void Visit(const TensorSpec& tensor, const std::string& name, std::int64_t layer) {
    const std::string_view module = ModuleOf(name);
    if (std::ranges::any_of(config_.modules_to_save,
                            [&](const std::string& saved) { return EndsIn(module, saved); })) {
      result_.trained_of_model += Elements(tensor.shape);
      return;
    }
    if (config_.type == PeftType::kLayerNorm) {
      if (IsTarget(tensor, module, layer)) {
        result_.trained_of_model += Elements(tensor.shape);
        ++adapted_;
      }
      return;
    }
    if (tensor.is_bias) {
      const bool is_trained = config_.trains_all_biases ||
                              (config_.trains_adapted_biases && IsTarget(tensor, module, layer));
      if (is_trained) result_.trained_of_model += Elements(tensor.shape);
      return;
    }
    const bool is_matrix =
        tensor.shape.size() == 2 && name.ends_with(".weight") &&
        (tensor.is_linear || tensor.part == Part::kHead || tensor.part == Part::kTokenEmbedding);
    if (is_matrix && IsTarget(tensor, module, layer)) Adapt(tensor, std::string(module));
  }

  // Experts are one parameter a layer in transformers 5; gate and up together.
  void VisitExperts(const TensorSpec& tensor, const std::string& name) {
    if (tensor.is_bias || tensor.part == Part::kExpertUp) return;
    const bool is_down = tensor.part == Part::kExpertDown;
    const std::string parameter = name.substr(0, std::min(name.find("experts"), name.size())) +
                                  (is_down ? "experts.down_proj" : "experts.gate_up_proj");
    const bool is_parameter =
        std::ranges::any_of(config_.target_parameters,
                            [&](const std::string& target) { return EndsIn(parameter, target); });
    const bool is_named = old_ != nullptr && IsNamed(is_down ? old_->down : old_->gate);
    if (!is_parameter && !is_named) return;
    const bool is_fused = tensor.copies == 1;
    if (is_fused && tensor.shape.size() != 3) return;
    const std::int64_t experts = is_fused ? tensor.shape[0] : tensor.copies;
    const std::int64_t first = is_fused ? tensor.shape[1] : tensor.shape[0];
    const std::int64_t second = is_fused ? tensor.shape[2] : tensor.shape[1];
    const std::int64_t doubled = tensor.part == Part::kExpertGate ? 2 : 1;
    // Of two modules that became one parameter, the ranks are added up.
    const std::int64_t ranks = is_named && !is_down ? 2 : 1;
    const std::int64_t rank = ranks * RankOf(parameter) * experts;
    Add(parameter + ".lora_A", {rank, second});
    Add(parameter + ".lora_B", {doubled * first, rank});
    ++adapted_;
  }

  // "gate" was a module as well: its weight is a parameter now.
  void VisitRouter(const TensorSpec& tensor, const std::string& name) {
    if (tensor.is_bias || tensor.shape.size() != 2 || !EndsIn(ModuleOf(name), "gate")) return;
    const std::int64_t rank = RankOf(name);
    Add(name + ".lora_A", {rank, tensor.shape[1]});
    Add(name + ".lora_B", {tensor.shape[0], rank});
    ++adapted_;
  }

  bool IsTarget(const TensorSpec& tensor, std::string_view module, std::int64_t layer) const {
    if (excluded_.Has(module)) return false;
    if (old_ != nullptr &&
        (EndsIn(module, old_->gate) || EndsIn(module, old_->up) || EndsIn(module, old_->down))) {
      return false;
    }
    if (is_all_linear_) return tensor.is_linear && tensor.part != Part::kRouter;
    if (!targets_.Has(module)) return false;
    if (config_.layers.empty() || targets_.IsExpression()) return true;
    return layer >= 0 && std::ranges::find(config_.layers, layer) != config_.layers.end();
  }

  std::int64_t RankOf(std::string_view module) const {
    for (const auto& [pattern, rank] : ranks_) {
      if (pattern.Matches(module)) return rank;
    }
    return config_.rank;
  }

  void Adapt(const TensorSpec& tensor, const std::string& module) {
    ++adapted_;
    const bool is_embedding = tensor.part == Part::kTokenEmbedding;
    // An embedding's matrix is [rows, width]: the input is a row. Conv1D stores [in, out].
    const bool is_turned = is_embedding || IsConv1d(module);
    const std::int64_t out = tensor.shape[is_turned ? 1 : 0];
    const std::int64_t in = tensor.shape[is_turned ? 0 : 1];
    const std::int64_t rank = RankOf(module);
    switch (config_.type) {
      case PeftType::kVera:
        Add(module + ".vera_lambda_b", {out});
        Add(module + ".vera_lambda_d", {rank});
        return;
      case PeftType::kOft:
        return AdaptByRotations(module, in);
      case PeftType::kBoft:
        return AdaptByButterflies(module, out, in);
      default:
        break;
    }
    const bool is_feedforward = std::ranges::any_of(
        config_.feedforward, [&](const std::string& name) { return EndsIn(module, name); });
    for (const AdapterTensor& added : AdapterTensors(Kind(), rank, out, in, is_feedforward)) {
      Add(fmt::format("{}.{}", module, added.label), {added.rows, added.cols});
    }
    if (config_.lora_bias) Add(module + ".lora_B.bias", {out});
  }

  // GPT-2's Conv1D is told by its model type: the tensor alone does not say which way round it is.
  bool IsConv1d(std::string_view module) const {
    if (model_.model_type != "gpt2") return false;
    return module.ends_with("c_attn") || module.ends_with("c_proj") || module.ends_with("c_fc");
  }

  spec::AdapterKind Kind() const {
    switch (config_.type) {
      case PeftType::kAdalora:
        return spec::AdapterKind::kAdalora;
      case PeftType::kIa3:
        return spec::AdapterKind::kIa3;
      case PeftType::kLoha:
        return spec::AdapterKind::kLoha;
      case PeftType::kLokr:
        return spec::AdapterKind::kLokr;
      case PeftType::kFourierft:
        return spec::AdapterKind::kFourierft;
      default:
        return config_.dora ? spec::AdapterKind::kDora : spec::AdapterKind::kLora;
    }
  }

  // peft/tuners/oft/layer.py, adjust_oft_parameters: the nearest divisor.
  static std::int64_t NearestDivisor(std::int64_t whole, std::int64_t wanted) {
    if (wanted >= whole) return whole;
    std::int64_t above = wanted;
    while (above <= whole && whole % above != 0) ++above;
    std::int64_t below = wanted;
    while (below > 1 && whole % below != 0) --below;
    return wanted - below <= above - wanted ? below : above;
  }

  // Skew-symmetric blocks: their upper triangles.
  void AdaptByRotations(const std::string& module, std::int64_t in) {
    std::int64_t blocks = config_.blocks;
    std::int64_t size = config_.block_size;
    if (blocks > 0) {
      blocks = NearestDivisor(in, blocks);
      size = in / blocks;
    } else if (size > 0) {
      size = NearestDivisor(in, size);
      blocks = in / size;
    }
    if (blocks <= 0) return Complain(module, "neither r nor oft_block_size is above 0");
    Add(module + ".oft_R", {config_.shares_blocks ? 1 : blocks, size * (size - 1) / 2});
  }

  void AdaptByButterflies(const std::string& module, std::int64_t out, std::int64_t in) {
    std::int64_t blocks = config_.blocks;
    std::int64_t size = config_.block_size;
    if (size == 0 && blocks > 0) size = in / blocks;
    if (blocks == 0 && size > 0) blocks = in / size;
    if (size <= 0 || blocks <= 0 || size * blocks != in) {
      return Complain(module, fmt::format("blocks of {} do not divide {}", size, in));
    }
    Add(module + ".boft_R", {config_.butterflies, blocks, size, size});
    Add(module + ".boft_s", {out, 1});
  }

  void Complain(std::string_view module, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}: {}", module, what);
  }

  void AddLinear(const std::string& module, std::int64_t in, std::int64_t out) {
    Add(module + ".weight", {out, in});
    Add(module + ".bias", {out});
  }
  void Add(std::string name, std::vector<std::int64_t> shape) {
    result_.added.push_back({std::move(name), std::move(shape)});
  }

  const spec::ModelSpec& model_;
  const spec::PeftConfig& config_;
  Names targets_;
  Names excluded_;
  std::vector<std::pair<Pattern, std::int64_t>> ranks_;
  const OldExperts* old_ = nullptr;
  bool is_all_linear_ = false;
  std::int64_t adapted_ = 0;
  std::string error_;
  PeftTensors result_;
};

}  // namespace

std::int64_t PeftTensors::Added() const {
  std::int64_t sum = 0;
  for (const PeftTensor& tensor : added) {
    if (__builtin_add_overflow(sum, Elements(tensor.shape), &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

Expected<PeftTensors> ExpandPeft(const spec::ModelSpec& model, const spec::PeftConfig& config) {
  return Expander(model, config).Expand();
}

}  // namespace trainfit::plan
