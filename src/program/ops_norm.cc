#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

// aten/src/ATen/native/cuda/layer_norm_kernel.cu: the input's gradient, and the weight's and
// bias's when they train.
void NormBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const bool is_in_place = c.number(0) != 0;
  tape.Run(KernelClass::kReduction, c.label(), Flops(), 3 * c.gradient().bytes());
  // The weight's and bias's: a kernel of its own over rows, which reads x and the gradient again.
  if (c.Wants(1)) {
    tape.Run(KernelClass::kReduction, c.label(), Flops(), 2 * c.gradient().bytes());
  }
  for (const int i : {0, 1, 2}) {
    if (!c.Wants(i)) continue;
    if (i == 0 && is_in_place) {
      c.Give(0, c.gradient());
      continue;
    }
    c.Give(i, tape.New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label()));
  }
}

}  // namespace

Tensor LayerNorm(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const char* label) {
  // layer_norm is on autocast's fp32 list (aten/src/ATen/autocast_mode.h): the input is cast up.
  const bool is_autocast = tape.autocast() != Dtype::kFp32;
  const Tensor input = is_autocast ? Cast(tape, x, Dtype::kFp32, label) : x;
  Tensor out = tape.New({x.rows(), x.cols()}, input.dtype(), Role::kActivations, label);
  const Tensor mean = tape.New({x.rows(), 1}, Dtype::kFp32, Role::kActivations, label);
  const Tensor rstd = tape.New({x.rows(), 1}, Dtype::kFp32, Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), input.bytes() + out.bytes());
  tape.Record(label, NormBackward, {input, weight, bias}, out, {input, mean, rstd}, {0});
  return out;
}

Tensor FusedRmsNorm(Tape& tape, const Tensor& x, const Tensor& weight, bool in_place_backward,
                    const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  const Tensor rstd = tape.New({x.rows(), 1}, Dtype::kFp32, Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, NormBackward, {x, weight}, out, {x, rstd}, {in_place_backward ? 1 : 0});
  return out;
}

}  // namespace trainfit::program
