#include <algorithm>
#include <string_view>

#include "plan/adapters.h"
#include "plan/plan.h"

namespace trainfit::plan {
namespace {

using spec::Part;
using spec::TensorSpec;

// Name of the module that owns a tensor: "self_attn.q_proj" of "self_attn.q_proj.weight".
std::string_view ModuleOf(const TensorSpec& tensor) {
  const std::string_view name = tensor.name;
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

bool IsExpert(const TensorSpec& tensor) {
  return tensor.part == Part::kExpertGate || tensor.part == Part::kExpertUp ||
         tensor.part == Part::kExpertGateUp || tensor.part == Part::kExpertDown;
}

bool IsHeadOrEmbedding(const TensorSpec& tensor) {
  return tensor.part == Part::kHead || tensor.part == Part::kTokenEmbedding;
}

// trl/trainer/utils.py peft_module_casting_to_bf16, which runs under bf16 alone.
bool KeepsHalf(const Plan& plan, const TensorSpec& tensor) {
  const bool is_end = IsHeadOrEmbedding(tensor) || tensor.part == Part::kPositionEmbedding;
  return is_end && plan.precision == spec::Precision::kBf16Mixed &&
         plan.facts.Is(Fact::kKbitEndsBf16);
}

// PEFT's rule (tuners/tuners_utils.py, check_target_module_exists): equal, or ends in ".target".
// "all-linear" takes every linear module but the output head.
bool IsTarget(const TensorSpec& tensor, const std::vector<std::string>& targets) {
  if (tensor.is_bias || !tensor.is_linear) return false;
  const std::string_view module = ModuleOf(tensor);
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
    if (target == "all-linear") return !IsHeadOrEmbedding(tensor) && tensor.part != Part::kRouter;
    if (!module.ends_with(target)) return false;
    return module.size() == target.size() || module[module.size() - target.size() - 1] == '.';
  });
}

// peft/utils/other.py _set_trainable: modules whose name ends in one of modules_to_save.
bool IsSaved(const Plan& plan, const TensorSpec& tensor) {
  const std::string_view module = ModuleOf(tensor);
  const auto& saved = plan.lora.modules_to_save;
  return std::any_of(saved.begin(), saved.end(), [&](const std::string& name) {
    return module == name || module.ends_with("." + name);
  });
}

template <typename Visit>
void ForEachTensor(const spec::ModelSpec& model, Visit visit) {
  for (const spec::Stack& stack : model.stacks) {
    for (const TensorSpec& tensor : stack.before) visit(tensor, std::int64_t{1});
    for (const spec::LayerRun& run : stack.runs) {
      for (const TensorSpec& tensor : stack.kinds[static_cast<std::size_t>(run.kind)].tensors) {
        visit(tensor, run.count);
      }
    }
    for (const TensorSpec& tensor : stack.after) visit(tensor, std::int64_t{1});
  }
}

}  // namespace

ParameterPlan HoldParameter(const Plan& plan, const TensorSpec& tensor) {
  ParameterPlan held;
  held.dtype = plan.weight_dtype;
  if (plan.method == spec::Method::kFull) {
    held.trainable = tensor.trainable;
    return held;
  }
  // Experts that are slices of one parameter are no nn.Linear: adapters and 4-bit pass them by.
  const bool is_module = !IsExpert(tensor) || !plan.facts.Is(Fact::kExpertsFused);
  if (is_module && IsTarget(tensor, plan.lora.targets)) held.lora_rank = plan.lora.rank;
  held.saved_copy = IsSaved(plan, tensor);
  if (plan.method == spec::Method::kLora) return held;
  // transformers/integrations/bitsandbytes.py replaces every nn.Linear but the output head.
  const bool is_kept = IsHeadOrEmbedding(tensor) &&
                       !(tensor.part == Part::kHead && plan.facts.Is(Fact::kQuantizesHead));
  held.quantized_4bit =
      is_module && tensor.is_linear && !tensor.is_bias && !is_kept && !held.saved_copy;
  if (held.quantized_4bit) {
    held.dtype = spec::Dtype::kUint8;
  } else if (plan.kbit_preparation && !KeepsHalf(plan, tensor)) {
    held.dtype = spec::Dtype::kFp32;  // peft/utils/other.py prepare_model_for_kbit_training
  }
  return held;
}

bool IsFeedforward(const Plan& plan, const TensorSpec& tensor) {
  return IsTarget(tensor, plan.lora.feedforward);
}

std::vector<AdapterTensor> AdapterTensorsOf(const Plan& plan, const TensorSpec& tensor,
                                            const ParameterPlan& held) {
  if (held.lora_rank == 0) return {};
  return AdapterTensors(plan.lora.kind, held.lora_rank, tensor.OutFeatures(), tensor.InFeatures(),
                        IsFeedforward(plan, tensor));
}

std::vector<std::string> UnknownLoraTargets(const Plan& plan) {
  std::vector<std::string> unknown;
  for (const std::string& target : plan.lora.targets) {
    bool is_known = false;
    ForEachTensor(*plan.model, [&](const TensorSpec& tensor, std::int64_t) {
      is_known = is_known || IsTarget(tensor, {target});
    });
    if (!is_known) unknown.push_back(target);
  }
  return unknown;
}

std::int64_t AdapterParameterCount(const Plan& plan) {
  std::int64_t count = 0;
  ForEachTensor(*plan.model, [&](const TensorSpec& tensor, std::int64_t layers) {
    const ParameterPlan held = HoldParameter(plan, tensor);
    if (held.saved_copy) count += tensor.Elements() * layers;
    if (held.lora_rank == 0) return;
    for (const AdapterTensor& added : AdapterTensorsOf(plan, tensor, held)) {
      count += added.rows * added.cols * tensor.copies * layers;
    }
  });
  return count;
}

std::int64_t TrainableParameterCount(const Plan& plan) {
  std::int64_t count = AdapterParameterCount(plan);
  ForEachTensor(*plan.model, [&](const TensorSpec& tensor, std::int64_t layers) {
    if (HoldParameter(plan, tensor).trainable) count += tensor.Elements() * layers;
  });
  return count;
}

}  // namespace trainfit::plan
