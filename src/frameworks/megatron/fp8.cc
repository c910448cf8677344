#include "frameworks/megatron/fp8.h"

namespace trainfit::frameworks::megatron {

using program::KernelClass;
using program::Role;
using program::Tensor;

Fp8Form FormOf(const plan::Plan& plan) {
  if (!plan.fp8) return Fp8Form::kNone;
  // quantizer of float8_current_scaling: compute_amax, then the cast; the others scale by what is
  // known before, or inside the kernel.
  const bool measures = plan.fp8->scaling == spec::Fp8Scaling::kCurrent;
  if (plan.fp8_needs_transposes) {
    return measures ? Fp8Form::kTwoLayoutsMeasured : Fp8Form::kTwoLayouts;
  }
  return measures ? Fp8Form::kOneLayoutMeasured : Fp8Form::kOneLayout;
}

Quantized Quantize(program::Tape& tape, const Tensor& x, Fp8Form form, const char* label) {
  if (form == Fp8Form::kNone) return {x, x};
  const bool measures = form == Fp8Form::kOneLayoutMeasured || form == Fp8Form::kTwoLayoutsMeasured;
  const bool has_two = form == Fp8Form::kTwoLayouts || form == Fp8Form::kTwoLayoutsMeasured;
  if (measures) tape.Run(KernelClass::kReduction, "largest element", Flops(), x.bytes());
  const auto copy = [&](Role role) {
    return tape.New({x.rows(), x.cols()}, spec::Dtype::kFp8E4m3, role, label);
  };
  Quantized quantized;
  quantized.backward = copy(Role::kActivations);
  quantized.forward = has_two ? copy(Role::kTemporary) : quantized.backward;
  const Bytes written = (has_two ? 2 : 1) * quantized.backward.bytes();
  tape.Run(KernelClass::kElementwise, "cast to fp8", Flops(), x.bytes() + written);
  return quantized;
}

}  // namespace trainfit::frameworks::megatron
