#include "frameworks/megatron/ops.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::BackwardContext;
using program::Collective;
using program::Group;
using program::KernelClass;
using program::Role;
using program::Stream;

void GroupedGemm(Tape& tape, const char* label, std::array<std::int64_t, 3> shape,
                 spec::Dtype dtype, Bytes weights) {
  const auto [rows, out, in] = shape;
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in);
  tape.Run({.kernel = KernelClass::kGemm,
            .label = label,
            .flops = Flops(flops),
            .moved = weights,
            .shape = shape,
            .dtype = dtype});
}

Tensor NewGradient(BackwardContext& c, int i) {
  return c.tape().New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
}

void GroupedLinearBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const auto form = static_cast<Fp8Form>(c.number(2));
  const Quantized quantized = Quantize(tape, c.gradient(), form, c.label());
  const Tensor& g = quantized.forward;
  const std::int64_t in = c.InputShape(0).cols;
  const Bytes weights(c.number(1));
  Tensor dx;
  if (c.Wants(0)) {
    dx = NewGradient(c, 0);
    GroupedGemm(tape, c.label(), {g.rows(), in, g.cols()}, g.dtype(), weights);
  }
  if (c.Wants(1)) {
    Tensor input = c.saved(0);
    if (!input.defined()) {
      input = NewGradient(c, 0);
      tape.Run(KernelClass::kElementwise, "recomputed input", Flops(), 2 * input.bytes());
      input = Quantize(tape, input, form, c.label()).backward;
    }
    GroupedGemm(tape, c.label(), {g.rows(), g.cols(), in}, g.dtype(), weights);
    const bool is_fused = c.number(0) != 0;
    if (!is_fused) c.Give(1, NewGradient(c, 1));
  }
  if (dx.defined()) c.Give(0, std::move(dx));
}

// The rows go back the way they came.
void AllToAllBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  c.tape().Exchange(Collective::kAllToAll, Group::kExpert, c.label(), c.gradient().bytes(),
                    Stream::kCompute);
  c.Give(0, std::move(gradient));
}

void GatherBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor own = NewGradient(c, 0);
  c.tape().Exchange(Collective::kReduceScatter, static_cast<Group>(c.number(0)), c.label(),
                    c.gradient().bytes(), Stream::kCompute);
  c.Give(0, std::move(own));
}

void ReduceBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor full = NewGradient(c, 0);
  c.tape().Exchange(Collective::kAllGather, static_cast<Group>(c.number(0)), c.label(),
                    full.bytes(), Stream::kCompute);
  c.Give(0, std::move(full));
}

void UnpermuteBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

void WeightedBackward(BackwardContext& c) {
  if (c.Wants(0)) {
    Tensor gradient = NewGradient(c, 0);
    c.tape().Run(KernelClass::kElementwise, c.label(), Flops(),
                 2 * gradient.bytes() + c.gradient().bytes());
    c.Give(0, std::move(gradient));
  }
  if (c.Wants(1)) c.Give(1, NewGradient(c, 1));
}

}  // namespace

Tensor GroupedLinear(Tape& tape, const Tensor& x, const Tensor& weight, std::int64_t out,
                     const Split& split, const char* label) {
  Tensor result = tape.New({x.rows(), out}, x.dtype(), Role::kActivations, label);
  const Quantized quantized = Quantize(tape, x, split.fp8, label);
  GroupedGemm(tape, label, {x.rows(), out, x.cols()}, quantized.forward.dtype(), weight.bytes());
  tape.Record(label, GroupedLinearBackward, {x, weight}, result,
              {tape.Wants(weight) && split.keeps_input ? quantized.backward : Tensor(),
               tape.Wants(x) ? weight : Tensor()},
              {split.fused_accumulation ? 1 : 0, weight.bytes().value(),
               static_cast<std::int64_t>(split.fp8)});
  return result;
}

Tensor AllToAll(Tape& tape, const Tensor& x, std::int64_t ranks, std::int64_t rows,
                const char* label) {
  if (ranks == 1) return x;
  Tensor out = tape.New({rows, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Exchange(Collective::kAllToAll, Group::kExpert, label, x.bytes(), Stream::kCompute);
  tape.Record(label, AllToAllBackward, {x}, out);
  return out;
}

Tensor GatherFromRanks(Tape& tape, const Tensor& x, const Split& split, const char* label) {
  if (split.ranks == 1) return x;
  Tensor out = tape.New({x.rows() * split.ranks, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Exchange(Collective::kAllGather, split.group, label, out.bytes(), Stream::kCompute);
  tape.Record(label, GatherBackward, {x}, out, {}, {static_cast<std::int64_t>(split.group)});
  return out;
}

Tensor ReduceToRanks(Tape& tape, const Tensor& x, const Split& split, const char* label) {
  if (split.ranks == 1) return x;
  Tensor out = tape.New({x.rows() / split.ranks, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Exchange(Collective::kReduceScatter, split.group, label, x.bytes(), Stream::kCompute);
  tape.Record(label, ReduceBackward, {x}, out, {}, {static_cast<std::int64_t>(split.group)});
  return out;
}

Tensor Unpermute(Tape& tape, const Tensor& x, std::int64_t tokens, const Tensor& indices,
                 const char* label) {
  Tensor out = tape.New({tokens, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, UnpermuteBackward, {x}, out, {indices});
  return out;
}

Tensor WeightedGatedActivation(Tape& tape, const Tensor& x, const Tensor& probabilities,
                               const char* label) {
  Tensor out = tape.New({x.rows(), x.cols() / 2}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, WeightedBackward, {x, probabilities}, out, {x, probabilities});
  return out;
}

}  // namespace trainfit::frameworks::megatron
