#include <string_view>

#include "frameworks/huggingface/layer.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Tensor;
using spec::Dtype;

// LlamaRMSNorm.forward, line by line: fp32 copy, mean of squares, rsqrt, product, cast, weight.
Tensor RmsNormEager(program::Tape& tape, const Tensor& x, const Tensor& weight, const char* label) {
  Tensor hidden = program::Cast(tape, x, Dtype::kFp32, label);
  const Tensor variance = program::MeanColumns(tape, program::Power(tape, hidden, label), label);
  {
    const Tensor root = program::Rsqrt(tape, program::Scale(tape, variance, label), label);
    hidden = program::Multiply(tape, hidden, root, label);
  }
  Tensor normalized = program::Cast(tape, hidden, x.dtype(), label);
  if (!weight.defined()) return normalized;
  return program::Multiply(tape, normalized, weight, label);
}

// GemmaRMSNorm.forward: the weight is applied in fp32 as 1 + w, then one cast back.
Tensor RmsNormGemma(program::Tape& tape, const Tensor& x, const Tensor& weight, const char* label) {
  Tensor output;
  {
    const Tensor hidden = program::Cast(tape, x, Dtype::kFp32, label);
    const Tensor variance = program::MeanColumns(tape, program::Power(tape, hidden, label), label);
    const Tensor root = program::Rsqrt(tape, program::Scale(tape, variance, label), label);
    output = program::Multiply(tape, hidden, root, label);
  }
  const Tensor one_plus =
      program::Scale(tape, program::Cast(tape, weight, Dtype::kFp32, label), label);
  output = program::Multiply(tape, output, one_plus, label);
  return program::Cast(tape, output, x.dtype(), label);
}

}  // namespace

Tensor ApplyNorm(const Layer& layer, const Tensor& x, spec::Part part, spec::NormKind kind) {
  if (kind == spec::NormKind::kNone) return x;
  const std::int32_t i = layer.frame.Find(part);
  const std::int32_t b = layer.frame.Find(part, true);
  const char* label = Label(Name(part));
  const Tensor weight = i >= 0 ? layer.tape.Parameter(layer.frame.WeightLeaf(i)) : Tensor();
  if (kind == spec::NormKind::kLayerNorm) {
    const Tensor bias = b >= 0 ? layer.tape.Parameter(layer.frame.WeightLeaf(b)) : Tensor();
    const Dtype autocast = layer.tape.autocast();
    if (layer.plan.facts.Is(plan::Fact::kLowPrecisionNorms)) layer.tape.set_autocast(Dtype::kFp32);
    Tensor out = program::LayerNorm(layer.tape, x, weight, bias, label);
    layer.tape.set_autocast(autocast);
    return out;
  }
  if (layer.plan.liger_kernels) return program::FusedRmsNorm(layer.tape, x, weight, true, label);
  if (layer.stack.norm_adds_one && weight.defined()) {
    return RmsNormGemma(layer.tape, x, weight, label);
  }
  return RmsNormEager(layer.tape, x, weight, label);
}

}  // namespace trainfit::frameworks::huggingface
