#include "verdict/explain.h"

#include <fmt/core.h>

namespace trainfit::verdict {
namespace {

using program::Role;

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

// Bytes of these roles follow from the model's shapes; the others from rules of the framework that
// were read in its source.
Basis BasisOf(Role role) {
  switch (role) {
    case Role::kWeights:
    case Role::kAdapterWeights:
    case Role::kQuantizationState:
    case Role::kMasterWeights:
    case Role::kGradients:
    case Role::kOptimizerState:
    case Role::kCheckpoints:
      return Basis::kExact;
    default:
      return Basis::kSource;
  }
}

// "2 B × 7,241,732,096 parameters" where the bytes are a whole number a parameter, of all ranks
// together if need be; else the ratio.
std::string PerParameter(Bytes bytes, std::int64_t parameters, std::int64_t ranks,
                         std::string_view what) {
  if (parameters <= 0) return "";
  for (const std::int64_t shares : {ranks, std::int64_t{1}}) {
    const Bytes whole = bytes * shares;
    if (whole.value() % parameters != 0) continue;
    return fmt::format("{} B × {} {}{}", whole.value() / parameters, Grouped(parameters), what,
                       shares > 1 ? fmt::format(" ÷ {} ranks", shares) : "");
  }
  const double ratio = static_cast<double>(bytes.value()) / static_cast<double>(parameters);
  return fmt::format("{:.3f} B × {} {}", ratio, Grouped(parameters), what);
}

std::string Ratio(const plan::Plan& plan, const memory::Part& role) {
  // Over how many ranks the role is spread: all of it under FSDP and ZeRO-3, weights not before.
  const spec::Sharding sharding = plan.parallel.sharding;
  const bool is_replicated = sharding == spec::Sharding::kNone || sharding == spec::Sharding::kDdp;
  const bool are_weights_whole =
      is_replicated || sharding == spec::Sharding::kZero1 || sharding == spec::Sharding::kZero2;
  const std::int64_t ranks = is_replicated ? 1 : plan.parallel.data;
  const std::int64_t weight_ranks = are_weights_whole ? 1 : plan.parallel.data;
  switch (role.role) {
    case Role::kWeights:
      return PerParameter(role.bytes, spec::ParameterCount(*plan.model), weight_ranks,
                          "parameters");
    case Role::kAdapterWeights:
      return PerParameter(role.bytes, plan::AdapterParameterCount(plan), weight_ranks,
                          "adapter parameters");
    case Role::kMasterWeights:
    case Role::kGradients:
    case Role::kOptimizerState:
      return PerParameter(role.bytes, plan::TrainableParameterCount(plan), ranks,
                          "trained parameters");
    default:
      return "";
  }
}

std::string Piece(std::string_view label, Bytes bytes, std::int64_t tensors) {
  return tensors == 1 ? fmt::format("{} {} B", label, Grouped(bytes.value()))
                      : fmt::format("{} {} B in {}", label, Grouped(bytes.value()), tensors);
}

// The role's largest tensors by name, and the rest of them, so that the sum is the role's bytes.
std::string Pieces(std::span<const memory::Part> parts, const memory::Part& role) {
  constexpr int kShown = 4;
  std::string text;
  Bytes rest = role.bytes;
  std::int64_t others = role.tensors;
  int shown = 0;
  for (const memory::Part& part : parts) {
    if (part.role != role.role || part.bytes == Bytes() || ++shown > kShown) continue;
    if (!text.empty()) text += " + ";
    text += Piece(part.label, part.bytes, part.tensors);
    rest -= part.bytes;
    others -= part.tensors;
  }
  if (rest > Bytes()) text += " + " + Piece("others", rest, others);
  return text;
}

std::string Formula(const plan::Plan& plan, std::span<const memory::Part> parts,
                    const memory::Part& role) {
  const std::string ratio = Ratio(plan, role);
  const std::string pieces = Pieces(parts, role);
  return ratio.empty() ? pieces : ratio + " = " + pieces;
}

}  // namespace

std::vector<PartBytes> ExplainParts(const plan::Plan& plan, std::span<const memory::Part> parts) {
  std::vector<PartBytes> explained;
  for (const memory::Part& role : memory::ByRole(parts)) {
    if (role.bytes == Bytes()) continue;
    explained.push_back({std::string(Name(role.role)), role.bytes, BasisOf(role.role),
                         Formula(plan, parts, role), std::string(Source(role.role))});
  }
  return explained;
}

std::string DescribeMoment(const plan::Plan& plan, const memory::Moment& moment) {
  if (moment.event < 0) return "at the start of the phase";
  std::string where;
  const std::int64_t layers = plan.model->Text().Layers();
  const std::int64_t frame =
      moment.frame > 0 ? moment.frame % program::kMicroBatchFrames : moment.frame;
  if (frame >= 1 && frame <= layers) {
    where = fmt::format(" in layer {} of {}", frame, layers);
  }
  std::string text = fmt::format("{}{}", moment.tensor, where);
  if (!moment.operation.empty() && moment.operation != moment.tensor) {
    text += fmt::format(", for {}", moment.operation);
  }
  return text;
}

}  // namespace trainfit::verdict
