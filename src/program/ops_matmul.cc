#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

// M × N × K multiply-adds, two FLOPs each.
void Gemm(Tape& tape, const char* label, std::int64_t m, std::int64_t n, std::int64_t k,
          Dtype dtype) {
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Bytes moved((m * k + n * k + m * n) * spec::ElementBytes(dtype));
  tape.Run({.kernel = KernelClass::kGemm,
            .label = label,
            .flops = Flops(flops),
            .moved = moved,
            .shape = {m, n, k},
            .dtype = dtype});
}

// linear: dW = gᵀ x (out × in), dx = g W (rows × in), db = column sums of g. As generated, the
// weight's gradient (mat2) is made before the input's (self).
void LinearBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Tensor& g = c.gradient();
  const Shape weight = c.InputShape(1);
  if (c.Wants(2)) {
    tape.Run(KernelClass::kReduction, c.label(), Flops(), g.bytes());
    c.Give(2, tape.New(c.InputShape(2), c.InputDtype(2), Role::kActivations, c.label()));
  }
  if (c.Wants(1)) {
    Gemm(tape, c.label(), weight.rows, weight.cols, g.rows(), g.dtype());
    c.Give(1, tape.New(weight, c.InputDtype(1), Role::kActivations, c.label()));
  }
  if (c.Wants(0)) {
    Gemm(tape, c.label(), g.rows(), weight.cols, weight.rows, g.dtype());
    // The product ran on rows; the input's gradient is a view of it (batch, length, features).
    const Tensor dx = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
    c.Give(0, tape.GradientView(dx, c.InputShape(0)));
  }
}

// A weight under autocast: the cached cast of a trainable leaf, a fresh one of a frozen leaf.
Tensor CastWeight(Tape& tape, const Tensor& weight, Dtype dtype, const char* label) {
  if (weight.dtype() == dtype) return weight;
  Tensor cast = tape.CachedCast(weight);
  if (cast.defined()) return cast;
  const bool grad_was_enabled = tape.grad_enabled();
  // The cache must serve later uses that do want gradients (checkpointed forwards run without),
  // so a trainable leaf's cast is recorded as autograd would record it.
  cast = Cast(tape, weight, dtype, label, Role::kWeightCasts);
  if (grad_was_enabled || weight.requires_grad()) tape.CacheCast(weight, cast);
  return cast;
}

struct FourBit {
  Bytes matrix;
  Bytes absmax;
};

// bitsandbytes/functional.py dequantize_4bit: with nested scales the fp32 absmax is rebuilt first,
// then the matrix is written in the compute dtype.
Tensor Dequantize(Tape& tape, const FourBit& size, const char* label) {
  Tensor absmax;
  if (size.absmax.value() > 0) {
    absmax = tape.NewBytes(size.absmax, Role::kWeightCasts, label);
    // dequantize_blockwise of the scales, then their mean is added.
    tape.Run({.kernel = KernelClass::kDequantize,
              .label = label,
              .moved = Bytes(size.absmax.value() * 13 / 4),
              .kernels = 2});
  }
  Tensor matrix = tape.NewBytes(size.matrix, Role::kWeightCasts, label);
  tape.Run(KernelClass::kDequantize, label, Flops(), Bytes(size.matrix.value() * 5 / 4));
  return matrix;
}

// autograd/_functions.py MatMul4Bit.backward: grad_output · dequantize(W)ᵀ.
void Linear4bitBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const std::int64_t out = c.number(0);
  const Shape x = c.InputShape(0);
  const auto compute = static_cast<Dtype>(c.number(2));
  const Tensor matrix = Dequantize(
      tape, {Bytes(out * x.cols * spec::ElementBytes(compute)), Bytes(c.number(1))}, c.label());
  const Tensor g = Cast(tape, c.gradient(), compute, c.label());
  Gemm(tape, c.label(), x.rows, x.cols, out, compute);
  Tensor dx = tape.New(x, compute, Role::kActivations, c.label());
  c.Give(0, Cast(tape, dx, c.InputDtype(0), c.label()));
}

// autograd/_functions.py MatMul8bitLt.backward: CB.to(dtype, copy=True).mul_(SCB), then the
// product.
void Linear8bitBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const std::int64_t out = c.number(0);
  const Shape x = c.InputShape(0);
  const Dtype compute = c.InputDtype(0);
  const Tensor matrix =
      Dequantize(tape, {Bytes(out * x.cols * spec::ElementBytes(compute)), Bytes()}, c.label());
  Gemm(tape, c.label(), x.rows, x.cols, out, compute);
  c.Give(0, tape.New(x, compute, Role::kActivations, c.label()));
}

}  // namespace

Tensor Linear(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const char* label, Role output_role) {
  const Dtype compute = tape.autocast() != Dtype::kFp32 ? tape.autocast() : x.dtype();
  const Tensor input = Cast(tape, x, compute, label);
  const Tensor w = CastWeight(tape, weight, compute, label);
  const Tensor b = bias.defined() ? CastWeight(tape, bias, compute, label) : Tensor();
  Tensor out = tape.TakeKept(KernelClass::kGemm);
  if (!out.defined()) {
    out = tape.New({x.rows(), weight.rows()}, compute, output_role, label);
    Gemm(tape, label, x.rows(), weight.rows(), x.cols(), compute);
    tape.Keep(KernelClass::kGemm, out);
  }
  tape.Record(label, LinearBackward, {input, w, b}, out,
              {tape.Wants(w) ? input : Tensor(), tape.Wants(input) ? w : Tensor()});
  return out;
}

Tensor Linear4bit(Tape& tape, const Tensor& x, std::int64_t out_features, Bytes absmax_bytes,
                  spec::Dtype compute, bool keeps_input, const char* label) {
  const Tensor input = Cast(tape, x, compute, label);
  Tensor out;
  {
    const Tensor matrix = Dequantize(
        tape, {Bytes(out_features * x.cols() * spec::ElementBytes(compute)), absmax_bytes}, label);
    out = tape.New({x.rows(), out_features}, compute, Role::kActivations, label);
    Gemm(tape, label, x.rows(), out_features, x.cols(), compute);
  }
  if (x.dtype() != compute) out = Cast(tape, out, x.dtype(), label);
  tape.Record(label, Linear4bitBackward, {x}, out,
              {keeps_input && tape.Wants(x) ? input : Tensor()},
              {out_features, absmax_bytes.value(), static_cast<std::int64_t>(compute)});
  return out;
}

Tensor Linear8bit(Tape& tape, const Tensor& x, std::int64_t out_features, const char* label) {
  // F.int8_vectorwise_quant(A.to(torch.float16)): the fp16 copy dies with the call.
  const Tensor quantized = tape.New({x.rows(), x.cols()}, Dtype::kInt8, Role::kTemporary, label);
  const Tensor scales = tape.New({x.rows(), 1}, Dtype::kFp32, Role::kTemporary, label);
  if (x.dtype() != Dtype::kFp16) Cast(tape, x, Dtype::kFp16, label, Role::kTemporary);
  Tensor out;
  {
    const Tensor sums =
        tape.New({x.rows(), out_features}, Dtype::kInt32, Role::kTemporary, "int32 products");
    out = tape.New({x.rows(), out_features}, x.dtype(), Role::kActivations, label);
    Gemm(tape, label, x.rows(), out_features, x.cols(), Dtype::kInt8);
  }
  tape.Record(label, Linear8bitBackward, {x}, out, {x}, {out_features});
  return out;
}

}  // namespace trainfit::program
