#include "frameworks/huggingface/layer.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Tensor;
using spec::Part;

// NewGELUActivation.forward in Python: 0.5 x (1 + tanh(c (x + 0.044715 x³))).
Tensor GeluNew(program::Tape& tape, const Tensor& x) {
  const char* label = "gelu_new";
  const Tensor half = program::Scale(tape, x, label);
  const auto inner = [&] {
    const Tensor cube = program::Scale(tape, program::Power(tape, x, label), label);
    return program::Scale(tape, program::Add(tape, x, cube, label), label);
  };
  const Tensor one_plus = program::Scale(tape, program::Squash(tape, inner(), label), label);
  return program::Multiply(tape, half, one_plus, label);
}

}  // namespace

Tensor ApplyActivation(const Layer& layer, spec::Activation activation, const Tensor& x) {
  switch (activation) {
    case spec::Activation::kGeluNew:
      return GeluNew(layer.tape, x);
    case spec::Activation::kQuickGelu: {  // x * sigmoid(1.702 x)
      const Tensor gate =
          program::Squash(layer.tape, program::Scale(layer.tape, x, "quick_gelu"), "quick_gelu");
      return program::Multiply(layer.tape, x, gate, "quick_gelu");
    }
    case spec::Activation::kRelu2: {  // relu(x) ** 2
      return program::Power(layer.tape, program::Activate(layer.tape, x, "relu"), "square");
    }
    default:
      return program::Activate(layer.tape, x, Label(Name(activation)));
  }
}

namespace {

// down(act(gate(x)) * up(x))
Tensor Gated(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  if (layer.plan.fused_activation) {
    const auto product = [&] {
      const Tensor gate = ApplyLinear(layer, x, Part::kGate);
      const Tensor up = ApplyLinear(layer, x, Part::kUp);
      return program::FusedGatedActivation(tape, gate, up, "swiglu");
    };
    return ApplyLinear(layer, product(), Part::kDown);
  }
  const auto product = [&] {
    const Tensor act = ApplyActivation(layer, mlp.activation, ApplyLinear(layer, x, Part::kGate));
    return program::Multiply(tape, act, ApplyLinear(layer, x, Part::kUp), "gate × up");
  };
  return ApplyLinear(layer, product(), Part::kDown);
}

// Phi-3: gate and up are halves of one output (models/phi3/modeling_phi3.py).
Tensor GatedFused(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const Tensor fused = ApplyLinear(layer, x, Part::kGateUp);
  const std::int64_t half = fused.cols() / 2;
  const auto parts = program::SplitColumns(tape, fused, {half, half, 0}, "split gate, up");
  const Tensor product = program::Multiply(
      tape, parts[1], ApplyActivation(layer, mlp.activation, parts[0]), "gate × up");
  return ApplyLinear(layer, product, Part::kDown);
}

Tensor Plain(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  const auto hidden = [&] {
    return ApplyActivation(layer, mlp.activation, ApplyLinear(layer, x, Part::kUp));
  };
  return ApplyLinear(layer, hidden(), Part::kDown);
}

}  // namespace

Tensor ApplyMlp(const Layer& layer, const spec::LayerKind& kind, const Tensor& x) {
  if (kind.mlp.kind == spec::MlpKind::kMoe) return ApplyMoe(layer, kind.mlp, x);
  if (kind.mlp.kind == spec::MlpKind::kPlain) return Plain(layer, kind.mlp, x);
  if (layer.frame.Find(Part::kGateUp) >= 0) return GatedFused(layer, kind.mlp, x);
  return Gated(layer, kind.mlp, x);
}

}  // namespace trainfit::frameworks::huggingface
