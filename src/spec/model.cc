#include "spec/model.h"

#include <array>
#include <limits>

#include "base/check.h"

namespace trainfit::spec {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Sums and products stay at the largest number: a reader refuses such a model by its total, and
// must be able to compute that total first.
std::int64_t Multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLargest : product;
}

std::int64_t Add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kLargest : sum;
}

bool IsRoutedExpert(Part part) {
  return part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kExpertGateUp ||
         part == Part::kExpertDown;
}

std::int64_t Sum(const std::vector<TensorSpec>& tensors) {
  std::int64_t sum = 0;
  for (const TensorSpec& tensor : tensors) sum = Add(sum, tensor.Elements());
  return sum;
}

// Elements of a layer that one token does not use.
std::int64_t Idle(const LayerKind& layer) {
  const std::int64_t experts = layer.mlp.experts;
  if (layer.mlp.kind != MlpKind::kMoe || experts <= 0) return 0;
  std::int64_t idle = 0;
  for (const TensorSpec& tensor : layer.tensors) {
    if (!IsRoutedExpert(tensor.part)) continue;
    idle = Add(idle, Multiply(tensor.Elements() / experts, experts - layer.mlp.experts_per_token));
  }
  return idle;
}

template <typename PerLayer>
std::int64_t SumLayers(const Stack& stack, PerLayer per_layer) {
  std::vector<std::int64_t> of_kind;
  of_kind.reserve(stack.kinds.size());
  for (const LayerKind& kind : stack.kinds) of_kind.push_back(per_layer(kind));
  std::int64_t sum = 0;
  for (const LayerRun& run : stack.runs) {
    sum = Add(sum, Multiply(run.count, of_kind[static_cast<std::size_t>(run.kind)]));
  }
  return sum;
}

}  // namespace

std::string_view Name(Part part) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Part::kOther) + 1> kNames =
      {"token embedding",
       "position embedding",
       "type embedding",
       "patch embedding",
       "embedding norm",
       "query",
       "key",
       "value",
       "attention output",
       "query/key/value",
       "query norm",
       "key norm",
       "attention sinks",
       "relative position bias",
       "query latent",
       "query latent norm",
       "query from latent",
       "key/value latent",
       "key/value latent norm",
       "key/value from latent",
       "cross-attention query",
       "cross-attention key",
       "cross-attention value",
       "cross-attention output",
       "cross-attention norm",
       "MLP gate",
       "MLP up",
       "MLP down",
       "MLP gate/up",
       "router",
       "expert gate",
       "expert up",
       "expert gate/up",
       "expert down",
       "shared expert gate",
       "shared expert up",
       "shared expert down",
       "shared expert router",
       "input norm",
       "post-attention norm",
       "pre-MLP norm",
       "post-MLP norm",
       "mixer",
       "projector",
       "final norm",
       "output head",
       "pooler",
       "convolution",
       "other"};
  const auto index = static_cast<std::size_t>(part);
  CHECK(index < kNames.size()) << "a part beyond the last one";
  return kNames[index];
}

std::int64_t TensorSpec::Elements() const {
  std::int64_t elements = copies;
  for (const std::int64_t size : shape) elements = Multiply(elements, size);
  return elements;
}

std::int64_t Stack::Layers() const {
  std::int64_t layers = 0;
  for (const LayerRun& run : runs) layers += run.count;
  return layers;
}

std::int64_t ParameterCount(const ModelSpec& model) {
  std::int64_t sum = 0;
  for (const Stack& stack : model.stacks) {
    sum = Add(sum, Add(Sum(stack.before), Sum(stack.after)));
    sum = Add(sum, SumLayers(stack, [](const LayerKind& kind) { return Sum(kind.tensors); }));
  }
  return sum;
}

std::int64_t ActiveParameterCount(const ModelSpec& model) {
  std::int64_t active = ParameterCount(model);
  for (const Stack& stack : model.stacks) active -= SumLayers(stack, Idle);
  return active;
}

std::string_view Name(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluNew:
      return "gelu_new";
    case Activation::kQuickGelu:
      return "quick_gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kRelu2:
      return "relu2";
    case Activation::kOther:
      return "activation";
  }
  return "activation";
}

}  // namespace trainfit::spec
