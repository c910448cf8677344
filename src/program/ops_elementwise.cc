#include <algorithm>

#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

Dtype Promote(Dtype a, Dtype b) {
  if (a == b) return a;
  return Dtype::kFp32;  // any two different floating types that meet here promote to fp32
}

void Elementwise(Tape& tape, const char* label, Bytes moved, std::int64_t kernels = 1) {
  tape.Run(
      {.kernel = KernelClass::kElementwise, .label = label, .moved = moved, .kernels = kernels});
}

// A gradient of input `i`'s shape and dtype, freshly allocated.
Tensor NewGradient(BackwardContext& c, int i) {
  return c.tape().New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
}

void CastBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  Elementwise(c.tape(), c.label(), c.gradient().bytes() + gradient.bytes());
  c.Give(0, std::move(gradient));
}

// Both inputs receive the same storage, unless type promotion makes a cast necessary.
void AddBackward(BackwardContext& c) {
  for (int i = 0; i < 2; ++i) {
    if (!c.Wants(i)) continue;
    if (c.InputDtype(i) == c.gradient().dtype()) {
      c.Give(i, c.gradient());
      continue;
    }
    Tensor gradient = NewGradient(c, i);
    Elementwise(c.tape(), c.label(), c.gradient().bytes() + gradient.bytes());
    c.Give(i, std::move(gradient));
  }
}

// gradient * other, then a sum over the broadcast dimension when `i` was broadcast, then a cast.
Tensor ProductGradient(BackwardContext& c, int i) {
  Tape& tape = c.tape();
  const Tensor& gradient = c.gradient();
  const Shape wanted = c.InputShape(i);
  Tensor product =
      tape.New({gradient.rows(), gradient.cols()}, gradient.dtype(), Role::kActivations, c.label());
  Elementwise(tape, c.label(), 3 * gradient.bytes());
  const bool is_broadcast = wanted.rows * wanted.cols != gradient.elements();
  if (!is_broadcast && c.InputDtype(i) == product.dtype()) return product;
  Tensor result = NewGradient(c, i);
  Elementwise(tape, c.label(), product.bytes() + result.bytes());
  return result;
}

// Order as generated: `other` before `self`.
void MultiplyBackward(BackwardContext& c) {
  for (const int i : {1, 0}) {
    if (c.Wants(i)) c.Give(i, ProductGradient(c, i));
  }
}

// FunctionsManual.cpp pow_backward: grad * (exponent * self.pow(exponent - 1)); the temporaries
// live to the end of the expression.
void PowerBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const Tensor& x = c.saved(0);
  const Tensor power = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kTemporary, c.label());
  const Tensor scaled = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kTemporary, c.label());
  Tensor gradient = NewGradient(c, 0);
  Elementwise(tape, c.label(), 7 * x.bytes(), 3);
  c.Give(0, std::move(gradient));
}

// One kernel: reads the gradient and what was saved, writes the gradient of the input.
void UnaryBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  Elementwise(c.tape(), c.label(), 3 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

// rsqrt: -0.5 * grad * result³; tensors of one number a row.
void RsqrtBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  const Tensor cube = NewGradient(c, 0);
  Elementwise(c.tape(), c.label(), 7 * c.gradient().bytes(), 3);
  c.Give(0, NewGradient(c, 0));
}

// The gradients are written over the saved inputs.
void FusedGatedActivationBackward(BackwardContext& c) {
  Elementwise(c.tape(), c.label(), 5 * c.gradient().bytes());
  for (int i = 0; i < 2; ++i) {
    if (c.Wants(i)) c.Give(i, c.saved(i));
  }
}

// slice_backward: zeros of the input's size, then a copy into the slice.
void SliceBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  Elementwise(c.tape(), c.label(), gradient.bytes() + 2 * c.gradient().bytes(), 2);
  c.Give(0, std::move(gradient));
}

// cat_backward narrows: both gradients are views.
void ConcatenateBackward(BackwardContext& c) {
  for (int i = 0; i < 2; ++i) {
    if (c.Wants(i)) c.Give(i, c.tape().DetachedView(c.gradient(), c.InputShape(i)));
  }
}

// split_backward concatenates the parts' gradients.
void SplitBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  Elementwise(c.tape(), c.label(), 2 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

}  // namespace

Tensor Cast(Tape& tape, const Tensor& x, Dtype dtype, const char* label, Role role) {
  if (x.dtype() == dtype) return x;
  Tensor out = tape.New({x.rows(), x.cols()}, dtype, role, label);
  Elementwise(tape, label, x.bytes() + out.bytes());
  tape.Record(label, CastBackward, {x}, out);
  return out;
}

Tensor Add(Tape& tape, const Tensor& a, const Tensor& b, const char* label) {
  Tensor out =
      tape.New({a.rows(), a.cols()}, Promote(a.dtype(), b.dtype()), Role::kActivations, label);
  Elementwise(tape, label, a.bytes() + b.bytes() + out.bytes());
  tape.Record(label, AddBackward, {a, b}, out);
  return out;
}

Tensor AddInPlace(Tape& tape, const Tensor& a, const Tensor& b, const char* label) {
  Tensor out = tape.DetachedView(a, {a.rows(), a.cols()});
  Elementwise(tape, label, 2 * a.bytes() + b.bytes());
  tape.Record(label, AddBackward, {a, b}, out);
  return out;
}

Tensor Scale(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes());
  tape.Record(label, CastBackward, {x}, out, {Tensor()});  // keeps the factor, on the host
  return out;
}

Tensor Multiply(Tape& tape, const Tensor& a, const Tensor& b, const char* label) {
  Tensor out =
      tape.New({a.rows(), a.cols()}, Promote(a.dtype(), b.dtype()), Role::kActivations, label);
  Elementwise(tape, label, a.bytes() + b.bytes() + out.bytes());
  tape.Record(label, MultiplyBackward, {a, b}, out,
              {tape.Wants(b) ? a : Tensor(), tape.Wants(a) ? b : Tensor()});
  return out;
}

Tensor Power(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes());
  tape.Record(label, PowerBackward, {x}, out, {x});
  return out;
}

Tensor MeanColumns(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), 1}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), x.bytes());
  // mean_backward: grad.expand(…) / n, a tensor of x's size.
  tape.Record(label, CastBackward, {x}, out);
  return out;
}

Tensor Rsqrt(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes());
  tape.Record(label, RsqrtBackward, {x}, out, {out});
  return out;
}

Tensor Activate(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes());
  tape.Record(label, UnaryBackward, {x}, out, {x});
  return out;
}

Tensor Squash(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes());
  tape.Record(label, UnaryBackward, {x}, out, {out});
  return out;
}

Tensor Softmax(Tape& tape, const Tensor& x, const char* label) { return Squash(tape, x, label); }

Tensor Dropout(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  const Tensor mask = tape.New({x.rows(), x.cols()}, Dtype::kBool, Role::kActivations, label);
  Elementwise(tape, label, 2 * x.bytes() + mask.bytes());
  tape.Record(label, UnaryBackward, {x}, out, {mask});
  return out;
}

Tensor FusedGatedActivation(Tape& tape, const Tensor& gate, const Tensor& up, const char* label) {
  Tensor out = tape.New({gate.rows(), gate.cols()}, gate.dtype(), Role::kActivations, label);
  Elementwise(tape, label, 3 * out.bytes());
  tape.Record(label, FusedGatedActivationBackward, {gate, up}, out, {gate, up});
  return out;
}

Tensor SliceColumns(Tape& tape, const Tensor& x, std::int64_t cols, const char* label) {
  Tensor base = tape.View(x, {x.rows(), cols});
  if (!tape.Wants(x)) return base;
  Tensor slice = tape.DetachedView(x, {x.rows(), cols});
  tape.Record(label, SliceBackward, {x}, slice);
  return slice;
}

std::array<Tensor, 3> SplitColumns(Tape& tape, const Tensor& x, std::array<std::int64_t, 3> cols,
                                   const char* label) {
  std::array<Tensor, 3> parts;
  Node* node = nullptr;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (cols[i] == 0) continue;
    parts[i] = tape.DetachedView(x, {x.rows(), cols[i]});
    if (node == nullptr) {
      node = tape.Record(label, SplitBackward, {x}, parts[i]);
    } else {
      tape.AddOutput(*node, parts[i]);
    }
  }
  return parts;
}

Tensor CopyColumns(Tape& tape, const Tensor& x, std::int64_t cols, const char* label) {
  Tensor out = tape.New({x.rows(), cols}, x.dtype(), Role::kActivations, label);
  Elementwise(tape, label, x.bytes() + out.bytes());
  tape.Record(label, CastBackward, {x}, out);
  return out;
}

Tensor SliceRows(Tape& tape, const Tensor& x, std::int64_t rows, bool copies, const char* label,
                 Role role) {
  const Shape shape{rows, x.cols()};
  Tensor out = copies ? tape.New(shape, x.dtype(), role, label) : tape.DetachedView(x, shape);
  if (copies) Elementwise(tape, label, 2 * out.bytes());
  tape.Record(label, SliceBackward, {x}, out);
  return out;
}

Tensor Concatenate(Tape& tape, const Tensor& a, const Tensor& b, const char* label) {
  Tensor out = tape.New({a.rows(), a.cols() + b.cols()}, Promote(a.dtype(), b.dtype()),
                        Role::kActivations, label);
  Elementwise(tape, label, 2 * out.bytes());
  tape.Record(label, ConcatenateBackward, {a, b}, out);
  return out;
}

}  // namespace trainfit::program
