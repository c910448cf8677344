// Transformer Engine's 8-bit linears: what is multiplied is written in 8 bits first, for each
// direction in which a product reads it. Products give bf16, sums of gradients fp32.
// (transformer_engine/pytorch/module/linear.py, layernorm_linear.py; tensor/*_tensor.py)
#pragma once

#include "plan/plan.h"
#include "program/ops.h"

namespace trainfit::frameworks::megatron {

enum class Fp8Form : std::uint8_t {
  kNone,
  kOneLayout,          // one copy serves every product
  kTwoLayouts,         // one along the rows, one along the columns
  kOneLayoutMeasured,  // the same, after a look for the largest element (current scaling)
  kTwoLayoutsMeasured,
};
// Of the plan's linears. kNone: they multiply in the compute dtype.
Fp8Form FormOf(const plan::Plan& plan);

// The dtype of a product whose operands are held like this.
inline spec::Dtype ProductDtype(Fp8Form form, spec::Dtype otherwise) {
  return form == Fp8Form::kNone ? otherwise : spec::Dtype::kFp8E4m3;
}

struct Quantized {
  program::Tensor forward;   // read by the product at hand
  program::Tensor backward;  // read by the weight's gradient; the same where one layout serves
};
// One kernel that reads x and writes what is asked for. kNone: x itself, and no kernel.
Quantized Quantize(program::Tape& tape, const program::Tensor& x, Fp8Form form, const char* label);

}  // namespace trainfit::frameworks::megatron
