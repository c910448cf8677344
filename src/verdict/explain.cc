#include "verdict/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

namespace trainfit::verdict {
namespace {

using program::Role;
using spec::Dtype;

std::string Grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string_view Source(Role role) {
  switch (role) {
    case Role::kWeights:
      return "shapes of the model's tensors";
    case Role::kAdapterWeights:
      return "peft/tuners/lora/layer.py update_layer: A is r × in, B is out × r";
    case Role::kQuantizationState:
      return "bitsandbytes/functional.py quantize_4bit: one scale a block of 64";
    case Role::kMasterWeights:
      return "fp32 copy of 16-bit weights";
    case Role::kGradients:
      return "one gradient a trained parameter, in the parameter's dtype";
    case Role::kOptimizerState:
      return "torch/optim/adam.py, bitsandbytes/optim/optimizer.py";
    case Role::kActivations:
      return "tensors that autograd saves (tools/autograd/derivatives.yaml) or uses at the peak";
    case Role::kCheckpoints:
      return "torch/utils/checkpoint.py keeps the input of each layer";
    case Role::kLogits:
      return "transformers/loss/loss_utils.py and the loss kernel in use";
    case Role::kTemporary:
      return "live inside one operation at the peak";
    case Role::kWeightCasts:
      return "aten/src/ATen/autocast_mode.cpp cached_cast; dequantized 4-bit matrices";
    case Role::kCommunication:
      return "gather and reduce buffers";
    case Role::kWorkspace:
      return "aten/src/ATen/cuda/CublasHandlePool.cpp, one a handle and stream";
  }
  return "";
}

// The elements of all tensors by how they are held: "2 B × 7,241,732,096 (bf16)".
std::string WeightFormula(const plan::Plan& plan) {
  std::map<std::pair<Dtype, bool>, std::int64_t> elements;
  const spec::Stack& stack = plan.model->Text();
  const auto add = [&](const spec::TensorSpec& tensor, std::int64_t layers) {
    const plan::ParameterPlan held = plan::HoldParameter(plan, tensor);
    elements[{held.dtype, held.quantized_4bit}] += tensor.Elements() * layers;
  };
  for (const spec::TensorSpec& tensor : stack.before) add(tensor, 1);
  for (const spec::LayerRun& run : stack.runs) {
    for (const spec::TensorSpec& tensor : stack.kinds[static_cast<std::size_t>(run.kind)].tensors) {
      add(tensor, run.count);
    }
  }
  for (const spec::TensorSpec& tensor : stack.after) add(tensor, 1);
  std::string text;
  for (const auto& [held, count] : elements) {
    if (!text.empty()) text += " + ";
    text += held.second ? fmt::format("0.5 B × {} (4-bit)", Grouped(count))
                        : fmt::format("{} B × {} ({})", spec::ElementBytes(held.first),
                                      Grouped(count), Name(held.first));
  }
  return text;
}

// The largest labels of a role, so that the number can be traced to tensors.
std::string LabelFormula(std::span<const memory::Part> parts, Role role) {
  constexpr int kShown = 4;
  std::string text;
  int shown = 0;
  for (const memory::Part& part : parts) {
    if (part.role != role || part.bytes == Bytes()) continue;
    if (++shown > kShown) return text + " + …";
    if (!text.empty()) text += " + ";
    text += fmt::format("{} {:.3f} GiB ({})", part.label, InGiB(part.bytes), part.tensors);
  }
  return text;
}

Dtype TrainedDtype(const plan::Plan& plan) {
  return plan.method == spec::Method::kFull ? plan.weight_dtype : plan.adapter_dtype;
}

std::string Formula(const plan::Plan& plan, std::span<const memory::Part> parts, Role role) {
  const std::int64_t trained = plan::TrainableParameterCount(plan);
  const std::int64_t bytes = spec::ElementBytes(TrainedDtype(plan));
  switch (role) {
    case Role::kWeights:
      return WeightFormula(plan);
    case Role::kAdapterWeights:
      return fmt::format("{} B × {} adapter parameters", bytes,
                         Grouped(plan::AdapterParameterCount(plan)));
    case Role::kGradients:
      return fmt::format("{} B × {} trained parameters, as far as they exist at the peak", bytes,
                         Grouped(trained));
    case Role::kOptimizerState:
      return fmt::format("{} states of {} trained parameters", Name(plan.optimizer),
                         Grouped(trained));
    case Role::kCheckpoints:
      return fmt::format("{} B × {} layers × {} tokens × {} hidden",
                         spec::ElementBytes(plan.method == spec::Method::kFull ? plan.weight_dtype
                                            : plan.kbit_preparation            ? Dtype::kFp32
                                                                               : plan.weight_dtype),
                         plan.model->Text().Layers(), Grouped(plan.TokensPerMicroBatch()),
                         Grouped(plan.model->Text().hidden));
    default:
      return LabelFormula(parts, role);
  }
}

}  // namespace

std::vector<PartBytes> ExplainParts(const plan::Plan& plan, std::span<const memory::Part> parts) {
  std::vector<PartBytes> explained;
  for (const memory::Part& role : memory::ByRole(parts)) {
    if (role.bytes == Bytes()) continue;
    explained.push_back({std::string(Name(role.role)), role.bytes, Basis::kExact,
                         Formula(plan, parts, role.role), std::string(Source(role.role))});
  }
  return explained;
}

std::string DescribeMoment(const plan::Plan& plan, const memory::Moment& moment) {
  if (moment.event < 0) return "at the start of the phase";
  std::string where;
  const std::int64_t layers = plan.model->Text().Layers();
  if (moment.frame >= 1 && moment.frame <= layers) {
    where = fmt::format(" in layer {} of {}", moment.frame, layers);
  }
  std::string text = fmt::format("{}{}", moment.tensor, where);
  if (!moment.operation.empty() && moment.operation != moment.tensor) {
    text += fmt::format(", for {}", moment.operation);
  }
  return text;
}

}  // namespace trainfit::verdict
