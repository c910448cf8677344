// RMSNorm, LayerNorm and the residual sum fused into the norm (benchmark_rms_norm.py,
// benchmark_layer_norm.py, benchmark_fused_add_rms_norm.py, benchmark_megatron_rms_norm.py).
#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

using plan::Version;
using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;
using spec::Dtype;

// liger_kernel/ops/rms_norm.py: gradients of the weight are summed over the rows; by each
// multiprocessor on its own since 0.3.1, before that (0.2.1) over a matrix of the input's size.
Bytes WeightGradientBytes(const OperatorCase& question, Shape shape) {
  const bool by_row = question.liger < Version{0, 3, 1} || question.multiprocessors == 0;
  const std::int64_t rows = by_row ? shape.rows : question.multiprocessors;
  return Bytes(rows * shape.cols * spec::ElementBytes(Dtype::kFp32));
}

Tensor SquaresRoot(Tape& tape, const Tensor& hidden) {
  const Tensor variance =
      program::MeanColumns(tape, program::Power(tape, hidden, "square"), "variance");
  return program::Rsqrt(tape, program::Scale(tape, variance, "variance + eps"), "rsqrt");
}

// LlamaRMSNorm.forward with a weight of its own type: the product promotes.
Tensor Eager(Tape& tape, const Tensor& x, const Tensor& weight) {
  Tensor hidden = program::Cast(tape, x, Dtype::kFp32, "fp32");
  {
    const Tensor root = SquaresRoot(tape, hidden);
    hidden = program::Multiply(tape, hidden, root, "normalized");
  }
  const Tensor normalized = program::Cast(tape, hidden, x.dtype(), "normalized");
  return program::Multiply(tape, normalized, weight, "weighted");
}

Tensor Fused(Bench& bench, const Tensor& x, const Tensor& weight, bool in_place) {
  Tensor y = program::FusedRmsNorm(bench.tape(), x, weight, in_place, "fused norm");
  return y;
}

// The output's gradient, as autograd takes it in: in the output's type.
Tensor Incoming(Bench& bench, const Tensor& dy, const Tensor& y) {
  return program::Cast(bench.tape(), dy, y.dtype(), "dy in the output's type");
}

}  // namespace

void RmsNorm(Bench& bench) {
  const Shape shape{bench.Size("M"), bench.Size("H", "N")};
  const Dtype dtype = bench.question().dtype;
  const Tensor weight = bench.Leaf({1, shape.cols}, Dtype::kFp32, true, "weight");
  const Tensor x = bench.Leaf(shape, dtype, true, "x");
  const Tensor dy = bench.Leaf(shape, dtype, false, "dy");
  Tape& tape = bench.tape();
  tape.set_retain_graph(true);
  if (bench.IsProvider("huggingface")) {
    const Tensor y = Eager(tape, x, weight);
    bench.Backward(y, Incoming(bench, dy, y));
    return;
  }
  const Tensor y = Fused(bench, x, weight, true);
  const Tensor partial = tape.NewBytes(WeightGradientBytes(bench.question(), shape),
                                       Role::kTemporary, "gradients of the weight by row");
  bench.Backward(y, dy);
}

void LayerNorm(Bench& bench) {
  const Shape shape{bench.Size("M"), bench.Size("N", "H")};
  const Dtype dtype = bench.question().dtype;
  const Tensor weight = bench.Leaf({1, shape.cols}, dtype, true, "weight");
  const Tensor bias = bench.Leaf({1, shape.cols}, dtype, true, "bias");
  const Tensor x = bench.Leaf(shape, dtype, true, "x");
  const Tensor dy = bench.Leaf(shape, dtype, false, "dy");
  bench.tape().set_retain_graph(true);
  const Tensor y = program::LayerNorm(bench.tape(), x, weight, bias, "layer norm");
  bench.Backward(y, dy);
}

// y = norm(x + r), s = x + r; both have gradients.
void FusedAddRmsNorm(Bench& bench) {
  const Shape shape{bench.Size("M"), bench.Size("H", "N")};
  const Dtype dtype = bench.question().dtype;
  const Tensor weight = bench.Leaf({1, shape.cols}, Dtype::kFp32, true, "weight");
  const Tensor x = bench.Leaf(shape, dtype, true, "x");
  const Tensor residual = bench.Leaf(shape, dtype, true, "residual");
  const Tensor dy = bench.Leaf(shape, dtype, false, "dy");
  const Tensor ds = bench.Leaf(shape, dtype, false, "ds");
  Tape& tape = bench.tape();
  const Tensor sum = program::Add(tape, program::Cast(tape, x, Dtype::kFp32, "fp32"),
                                  program::Cast(tape, residual, Dtype::kFp32, "fp32"), "x + r");
  Tensor y;
  Tensor partial;
  if (bench.IsProvider("huggingface")) {
    y = Eager(tape, sum, weight);
  } else {
    y = Fused(bench, sum, weight, false);
    if (bench.IsProvider("liger_rms_norm")) {
      const Tensor outer = bench.Leaf({1, shape.cols}, Dtype::kFp32, true, "outer weight");
      y = program::Multiply(tape, y, outer, "weighted");
    }
    partial = tape.NewBytes(WeightGradientBytes(bench.question(), shape), Role::kTemporary,
                            "gradients of the weight by row");
  }
  const Tensor s = program::Cast(tape, sum, dtype, "s");
  // Liger's kernel adds the gradient of s itself (ops/fused_add_rms_norm.py, dS_out).
  if (!bench.IsProvider("liger_fused_add_rms_norm")) tape.Seed(s, ds);
  bench.Backward(y, Incoming(bench, dy, y));
}

// y.sum().backward(): the gradient is an expanded number.
void MegatronRmsNorm(Bench& bench) {
  const Shape shape{bench.Size("S") * bench.Size("B"), bench.Size("H")};
  const Dtype dtype = Dtype::kBf16;
  const Tensor weight = bench.Leaf({1, shape.cols}, dtype, true, "weight");
  const Tensor x = bench.Leaf(shape, dtype, true, "x");
  Tape& tape = bench.tape();
  const bool is_liger = bench.IsProvider("liger");
  const Tensor y = program::FusedRmsNorm(tape, x, weight, false, "norm");
  // Both kernels need a contiguous gradient.
  const Tensor gradient = tape.New(shape, dtype, Role::kActivations, "expanded gradient");
  Tensor partial;
  if (is_liger) {
    partial = tape.NewBytes(WeightGradientBytes(bench.question(), shape), Role::kTemporary,
                            "gradients of the weight by row");
  }
  bench.Backward(y, gradient);
}

}  // namespace trainfit::frameworks::operators
