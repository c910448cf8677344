// What PEFT's adapters compute beside their base layer, one function a kind; LoRA itself is in
// linear.cc. Outside autocast PEFT casts the input to the adapter's type (_cast_input_dtype).
#include <array>

#include "frameworks/huggingface/layer.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::BackwardContext;
using program::Role;
using program::Tape;
using program::Tensor;
using spec::Dtype;

Tensor Parameter(const Layer& layer, std::int32_t i, std::int32_t n) {
  return layer.tape.Parameter(layer.frame.AdapterLeaf(i, n));
}

Tensor AdapterInput(const Layer& layer, const Tensor& x) {
  if (layer.tape.autocast() != Dtype::kFp32) return x;
  return program::Cast(layer.tape, x, layer.plan.adapter_dtype, "adapter input cast");
}

// lora_B(lora_A(x)) * scaling
Tensor LowRank(const Layer& layer, const Tensor& x, const Tensor& a, const Tensor& b) {
  const auto down = [&] { return program::Linear(layer.tape, x, a, {}, "lora_A"); };
  return program::Linear(layer.tape, down(), b, {}, "lora_B");
}

// lora/dora.py DoraLinearLayer.forward: the norm of the merged weight is made from an identity
// matrix that runs through the adapter, without gradient; then
// (m − 1) · base + m · lora · scaling, added to the base result.
Tensor Dora(const Layer& layer, const Tensor& x, const Tensor& result, std::int32_t i) {
  Tape& tape = layer.tape;
  const spec::TensorSpec& base = layer.frame.tensor(i);
  const Tensor input = AdapterInput(layer, x);
  const Tensor a = Parameter(layer, i, 0);
  const Tensor b = Parameter(layer, i, 1);
  const Tensor magnitude = Parameter(layer, i, 2);
  Tensor scale;
  {
    const std::int64_t in = base.InFeatures();
    const Tensor eye = tape.New({in, in}, a.dtype(), Role::kTemporary, "identity");
    // Its result is detached, so that nothing of it is kept.
    const bool grad_was_enabled = tape.grad_enabled();
    tape.set_grad_enabled(false);
    const Tensor merged = LowRank(layer, eye, a, b);
    tape.set_grad_enabled(grad_was_enabled);
    const Tensor weight =
        tape.New({base.OutFeatures(), in}, input.dtype(), Role::kTemporary, "weight in fp32");
    const Tensor sum =
        tape.New({base.OutFeatures(), in}, input.dtype(), Role::kTemporary, "merged weight");
    scale = program::Scale(tape, magnitude, "magnitude / norm");
  }
  const Tensor lora = LowRank(layer, input, a, b);
  const Tensor kept =
      program::Multiply(tape, result, program::Scale(tape, scale, "m - 1"), "(m - 1) base");
  const Tensor turned =
      program::Scale(tape, program::Multiply(tape, lora, scale, "m lora"), "scaling");
  const Tensor dora = program::Add(tape, kept, turned, "dora");
  return program::Cast(tape, program::Add(tape, result, dora, "dora sum"), result.dtype(),
                       "dora output cast");
}

// adalora/layer.py SVDLinear.forward: result += (x @ (A * E).T @ B.T) * scaling / ranknum
Tensor Adalora(const Layer& layer, const Tensor& x, const Tensor& result, std::int32_t i) {
  Tape& tape = layer.tape;
  const Tensor input = AdapterInput(layer, x);
  const Tensor a = Parameter(layer, i, 0);
  const Tensor scaled = program::Multiply(tape, a, Parameter(layer, i, 1), "A * E");
  const Tensor out = LowRank(layer, input, scaled, Parameter(layer, i, 2));
  const Tensor divided =
      program::Scale(tape, program::Scale(tape, out, "scaling"), "scaling / rank");
  return program::AddInPlace(tape, result, divided, "adalora sum");
}

// F.linear(x, delta) with a delta that was made from the parameters: it is saved for the input's
// gradient, the input for its own (loha, lokr, fourierft layer.py).
Tensor Delta(const Layer& layer, const Tensor& x, const Tensor& result, const Tensor& delta) {
  Tape& tape = layer.tape;
  const Tensor out = program::Linear(tape, AdapterInput(layer, x), delta, {}, "delta");
  return program::Cast(tape, program::Add(tape, result, out, "delta sum"), result.dtype(),
                       "adapter output cast");
}

// HadaWeight, make_kron, ifft2: backward needs up to three matrices of the delta's size.
void DeltaBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Tensor scaled = tape.New({c.gradient().rows(), c.gradient().cols()}, c.gradient().dtype(),
                                 Role::kTemporary, c.label());
  const Tensor product = tape.New({c.gradient().rows(), c.gradient().cols()}, c.gradient().dtype(),
                                  Role::kTemporary, c.label());
  for (int i = 0; i < program::Node::kMaxInputs; ++i) {
    if (c.Wants(i)) {
      c.Give(i, tape.New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label()));
    }
  }
}

Tensor DeltaOf(const Layer& layer, std::int32_t i, int tensors, int temporaries) {
  Tape& tape = layer.tape;
  const spec::TensorSpec& base = layer.frame.tensor(i);
  const program::Shape shape{base.OutFeatures(), base.InFeatures()};
  std::array<Tensor, 4> parameters;
  for (int n = 0; n < tensors; ++n)
    parameters[static_cast<std::size_t>(n)] = Parameter(layer, i, n);
  const Dtype dtype = parameters[0].dtype();
  Tensor first = tape.New(shape, dtype, Role::kTemporary, "delta");
  Tensor second;
  Tensor third;
  if (temporaries > 1) second = tape.New(shape, dtype, Role::kTemporary, "delta");
  if (temporaries > 2) third = tape.New(shape, dtype, Role::kTemporary, "delta");
  Tensor delta = tape.New(shape, dtype, Role::kActivations, "delta");
  tape.Record("delta", DeltaBackward, {parameters[0], parameters[1], parameters[2], parameters[3]},
              delta);
  return delta;
}

}  // namespace

// ia3/layer.py Linear.forward of a feed-forward module: (x.to(dtype) * l).to(previous dtype)
Tensor ScaleInput(const Layer& layer, const Tensor& x, std::int32_t i) {
  Tape& tape = layer.tape;
  const Tensor l = program::Scale(tape, Parameter(layer, i, 0), "ia3_l");
  const Tensor wide = program::Cast(tape, x, l.dtype(), "ia3 input cast");
  return program::Cast(tape, program::Multiply(tape, wide, l, "ia3"), x.dtype(), "ia3 output cast");
}

Tensor ApplyAdapter(const Layer& layer, const Tensor& x, const Tensor& result, std::int32_t i) {
  Tape& tape = layer.tape;
  switch (layer.plan.lora.kind) {
    case spec::AdapterKind::kDora:
      return Dora(layer, x, result, i);
    case spec::AdapterKind::kAdalora:
      return Adalora(layer, x, result, i);
    case spec::AdapterKind::kIa3: {
      const Tensor l = program::Scale(tape, Parameter(layer, i, 0), "ia3_l");
      return program::Cast(tape, program::Multiply(tape, result, l, "ia3"), result.dtype(),
                           "ia3 output cast");
    }
    case spec::AdapterKind::kLoha:  // two low-rank products and their product
      return Delta(layer, x, result, DeltaOf(layer, i, 4, 3));
    case spec::AdapterKind::kLokr:  // the Kronecker product, scaled
      return Delta(layer, x, result, DeltaOf(layer, i, layer.frame.AdapterCount(i), 1));
    case spec::AdapterKind::kFourierft:  // a dense spectrum, and its complex transform (two floats)
      return Delta(layer, x, result, DeltaOf(layer, i, 1, 3));
    case spec::AdapterKind::kLora:
      break;
  }
  return result;
}

}  // namespace trainfit::frameworks::huggingface
