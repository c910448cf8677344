#include "frameworks/megatron/ops.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::BackwardContext;
using program::Collective;
using program::Group;
using program::KernelClass;
using program::Role;
using program::Shape;
using program::Stream;

enum Number { kRanks, kSequence, kGroup, kFused, kShared, kForm };

void Gemm(Tape& tape, const char* label, std::int64_t m, std::int64_t n, std::int64_t k,
          spec::Dtype dtype) {
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  tape.Run({.kernel = KernelClass::kGemm,
            .label = label,
            .flops = Flops(flops),
            .moved = Bytes((m * k + n * k + m * n) * spec::ElementBytes(dtype)),
            .shape = {m, n, k},
            .dtype = dtype});
}

Fp8Form FormOf(const BackwardContext& c) { return static_cast<Fp8Form>(c.number(kForm)); }

Group GroupOf(const BackwardContext& c) { return static_cast<Group>(c.number(kGroup)); }

// The rows of all tensor ranks, in a tensor of its own or in the global buffer.
Tensor Gather(Tape& tape, const Tensor& x, std::int64_t ranks, Group group, bool shared,
              Stream stream, const char* label) {
  const Shape shape{x.rows() * ranks, x.cols()};
  Tensor full = shared ? tape.Borrowed(shape, x.dtype())
                       : tape.New(shape, x.dtype(), Role::kCommunication, label);
  if (stream != Stream::kCompute) tape.Wait(stream, Stream::kCompute);
  tape.Exchange(Collective::kAllGather, group, label, full.bytes(), stream);
  return full;
}

Tensor Scatter(Tape& tape, const Tensor& full, std::int64_t ranks, Group group, Stream stream,
               const char* label) {
  Tensor own =
      tape.New({full.rows() / ranks, full.cols()}, full.dtype(), Role::kActivations, label);
  if (stream != Stream::kCompute) tape.Wait(stream, Stream::kCompute);
  tape.Exchange(Collective::kReduceScatter, group, label, full.bytes(), stream);
  return own;
}

void GiveBias(BackwardContext& c) {
  constexpr int kBias = 2;
  if (!c.Wants(kBias)) return;
  Tape& tape = c.tape();
  tape.Run(KernelClass::kReduction, c.label(), Flops(), c.gradient().bytes());
  c.Give(kBias, tape.New(c.InputShape(kBias), c.InputDtype(kBias), Role::kActivations, c.label()));
}

// gᵀ x into the main gradient, or into a tensor that is added to it.
void GiveWeight(BackwardContext& c, std::int64_t rows) {
  constexpr int kWeight = 1;
  if (!c.Wants(kWeight)) return;
  Tape& tape = c.tape();
  const Shape weight = c.InputShape(kWeight);
  Gemm(tape, c.label(), weight.rows, weight.cols, rows,
       ProductDtype(FormOf(c), c.gradient().dtype()));
  if (c.number(kFused) != 0) return;
  c.Give(kWeight, tape.New(weight, c.InputDtype(kWeight), Role::kGradients, c.label()));
}

void ColumnBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Quantized quantized = Quantize(tape, c.gradient(), FormOf(c), c.label());
  const Tensor& g = quantized.forward;
  const std::int64_t ranks = c.number(kRanks);
  const bool is_sequence = c.number(kSequence) != 0;
  const Shape weight = c.InputShape(1);
  Tensor input = c.saved(0);
  if (!input.defined() && c.Wants(1)) {
    input = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
    tape.Run(KernelClass::kElementwise, "recomputed input", Flops(), 2 * input.bytes());
    input = Quantize(tape, input, FormOf(c), c.label()).backward;
  }
  Tensor gathered;
  if (is_sequence && c.Wants(1)) {
    gathered = Gather(tape, input, ranks, GroupOf(c), c.number(kShared) != 0, Stream::kAllGather,
                      c.label());
  }
  Tensor dx;
  Tensor own;
  if (c.Wants(0)) {
    dx = tape.New({g.rows(), weight.cols}, c.InputDtype(0), Role::kActivations, c.label());
    Gemm(tape, c.label(), g.rows(), weight.cols, weight.rows, g.dtype());
  }
  if (gathered.defined()) tape.Wait(Stream::kCompute, Stream::kAllGather);
  const bool reduces = dx.defined() && ranks > 1;
  if (reduces && is_sequence) {
    own = Scatter(tape, dx, ranks, GroupOf(c), Stream::kReduceScatter, c.label());
  } else if (reduces) {
    tape.Wait(Stream::kReduceScatter, Stream::kCompute);
    tape.Exchange(Collective::kAllReduce, GroupOf(c), c.label(), dx.bytes(),
                  Stream::kReduceScatter);
  }
  GiveWeight(c, g.rows());
  GiveBias(c);
  if (reduces) tape.Wait(Stream::kCompute, Stream::kReduceScatter);
  if (c.Wants(0)) c.Give(0, own.defined() ? std::move(own) : std::move(dx));
}

void RowBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  // Gradients are written in 8 bits before they are gathered.
  const Quantized quantized = Quantize(tape, c.gradient(), FormOf(c), c.label());
  Tensor g = quantized.forward;
  const Shape weight = c.InputShape(1);
  if (c.number(kSequence) != 0) {
    g = Gather(tape, g, c.number(kRanks), GroupOf(c), false, Stream::kCompute, c.label());
  }
  Tensor dx;
  if (c.Wants(0)) {
    dx = tape.New({g.rows(), weight.cols}, c.InputDtype(0), Role::kActivations, c.label());
    Gemm(tape, c.label(), g.rows(), weight.cols, weight.rows, g.dtype());
  }
  GiveWeight(c, g.rows());
  if (c.Wants(0)) c.Give(0, std::move(dx));
}

}  // namespace

Tensor ColumnLinear(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Split& split, const char* label, Role role) {
  const Quantized quantized = Quantize(tape, x, split.fp8, label);
  Tensor input = quantized.forward;
  if (split.sequence) {
    input =
        Gather(tape, input, split.ranks, split.group, split.shared_buffer, Stream::kCompute, label);
  }
  Tensor out = tape.New({input.rows(), weight.rows()}, x.dtype(), role, label);
  Gemm(tape, label, input.rows(), weight.rows(), x.cols(), input.dtype());
  const bool keeps = tape.Wants(weight) && split.keeps_input;
  tape.Record(label, ColumnBackward, {x, weight, bias}, out,
              {keeps ? quantized.backward : Tensor(), tape.Wants(x) ? weight : Tensor()},
              {split.ranks, split.sequence ? 1 : 0, static_cast<std::int64_t>(split.group),
               split.fused_accumulation ? 1 : 0, split.shared_buffer ? 1 : 0,
               static_cast<std::int64_t>(split.fp8)});
  return out;
}

Tensor RowLinear(Tape& tape, const Tensor& x, const Tensor& weight, const Split& split,
                 const char* label) {
  Tensor out = tape.New({x.rows(), weight.rows()}, x.dtype(), Role::kActivations, label);
  const Quantized quantized = Quantize(tape, x, split.fp8, label);
  Gemm(tape, label, x.rows(), weight.rows(), x.cols(), quantized.forward.dtype());
  if (split.sequence) {
    out = Scatter(tape, out, split.ranks, split.group, Stream::kCompute, label);
  } else if (split.ranks > 1) {
    tape.Exchange(Collective::kAllReduce, split.group, label, out.bytes(), Stream::kCompute);
  }
  tape.Record(
      label, RowBackward, {x, weight}, out,
      {tape.Wants(weight) ? quantized.backward : Tensor(), tape.Wants(x) ? weight : Tensor()},
      {split.ranks, split.sequence ? 1 : 0, static_cast<std::int64_t>(split.group),
       split.fused_accumulation ? 1 : 0, split.shared_buffer ? 1 : 0,
       static_cast<std::int64_t>(split.fp8)});
  return out;
}

}  // namespace trainfit::frameworks::megatron
