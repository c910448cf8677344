#include "base/check.h"
#include "frameworks/huggingface/layer.h"
#include "frameworks/huggingface/quantization.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Tensor;
using spec::Dtype;

// The base layer: nn.Linear, or bitsandbytes' Linear4bit.
Tensor BaseLinear(const Layer& layer, const Tensor& x, std::int32_t i, std::int32_t bias,
                  program::Role output_role) {
  const spec::TensorSpec& spec = layer.frame.tensor(i);
  const char* label = Label(Name(spec.part));
  if (layer.frame.held(i).quantized_4bit) {
    return QuantizedLinear(layer, x, spec.OutFeatures(), label);
  }
  const Tensor b = bias >= 0 ? layer.tape.Parameter(layer.frame.WeightLeaf(bias)) : Tensor();
  const Tensor w = layer.tape.Parameter(layer.frame.WeightLeaf(i));
  return program::Linear(layer.tape, x, w, b, label, output_role);
}

// lora_B(lora_A(dropout(x))) * scaling
Tensor AdapterPath(const Layer& layer, const Tensor& x, std::int32_t i) {
  program::Tape& tape = layer.tape;
  const Tensor a = tape.Parameter(layer.frame.AdapterLeaf(i, 0));
  const Tensor b = tape.Parameter(layer.frame.AdapterLeaf(i, 1));
  const auto down = [&] {
    if (layer.plan.lora.dropout <= 0) return program::Linear(tape, x, a, {}, "lora_A");
    return program::Linear(tape, program::Dropout(tape, x, "lora dropout"), a, {}, "lora_A");
  };
  const Tensor out = program::Linear(tape, down(), b, {}, "lora_B");
  return program::Scale(tape, out, "lora scaling");
}

// peft/tuners/lora/layer.py Linear.forward: x is cast to the adapter's dtype and stays referenced
// until the function returns.
Tensor LoraLinear(const Layer& layer, Tensor x, Tensor result, std::int32_t i) {
  program::Tape& tape = layer.tape;
  const Dtype result_dtype = result.dtype();
  x = program::Cast(tape, x, layer.plan.adapter_dtype, "lora input cast");
  result = program::Add(tape, result, AdapterPath(layer, x, i), "lora sum");
  return program::Cast(tape, result, result_dtype, "lora output cast");
}

// peft/tuners/lora/bnb.py, gptq.py, awq.py: the cast happens only outside autocast; the result of
// bitsandbytes' Linear4bit is cloned, that of GPTQ's layer is added to in place.
Tensor LoraLinear4bit(const Layer& layer, Tensor x, Tensor result, std::int32_t i) {
  program::Tape& tape = layer.tape;
  const spec::Quantization quantization = layer.plan.quantization;
  if (IsBlockwise(quantization)) {
    result = program::CopyColumns(tape, result, result.cols(), "clone");
  }
  const bool requires_conversion = tape.autocast() == Dtype::kFp32;
  const Dtype expected = result.dtype();
  if (requires_conversion) {
    x = program::Cast(tape, x, layer.plan.adapter_dtype, "lora input cast");
  }
  Tensor output = AdapterPath(layer, x, i);
  if (requires_conversion) output = program::Cast(tape, output, expected, "lora output cast");
  const bool is_gptq =
      quantization == spec::Quantization::kGptq4 || quantization == spec::Quantization::kGptq8;
  if (is_gptq) return program::AddInPlace(tape, result, output, "lora sum");
  return program::Add(tape, result, output, "lora sum");
}

}  // namespace

Tensor QuantizedLinear(const Layer& layer, const Tensor& x, std::int64_t out, const char* label) {
  const plan::Plan& plan = layer.plan;
  if (plan.quantization == spec::Quantization::kInt8) {
    return program::Linear8bit(layer.tape, x, out, label);
  }
  if (!IsBlockwise(plan.quantization)) {
    // qlinear_tritonv2.py, awq/modules/linear/gemm.py: dequantized to fp16, then multiplied.
    return program::Linear4bit(layer.tape, x, out, Bytes(), plan.compute_dtype, false, label);
  }
  const QuantizedSize size = FourBitSize(out * x.cols(), plan.double_quantization);
  return program::Linear4bit(layer.tape, x, out, size.rebuilt_absmax, plan.compute_dtype,
                             plan.facts.Is(plan::Fact::kFourBitKeepsInput), label);
}

Tensor ApplyLinear(const Layer& layer, const Tensor& x, spec::Part part,
                   program::Role output_role) {
  const std::int32_t i = layer.frame.Find(part);
  CHECK(i >= 0) << "the layer has no " << Name(part);
  const std::int32_t bias = layer.frame.Find(part, true);
  const bool has_adapter = layer.frame.held(i).lora_rank > 0;
  const bool is_lora = layer.plan.lora.kind == spec::AdapterKind::kLora;
  if (has_adapter && !is_lora && layer.frame.ScalesInput(i)) {
    return BaseLinear(layer, ScaleInput(layer, x, i), i, bias, output_role);
  }
  Tensor result = BaseLinear(layer, x, i, bias, output_role);
  if (!has_adapter) return result;
  if (!is_lora) return ApplyAdapter(layer, x, result, i);
  if (layer.frame.held(i).quantized_4bit) return LoraLinear4bit(layer, x, std::move(result), i);
  return LoraLinear(layer, x, std::move(result), i);
}

}  // namespace trainfit::frameworks::huggingface
