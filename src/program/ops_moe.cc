#include "program/ops.h"

namespace trainfit::program {
namespace {

void GroupedGemm(Tape& tape, const char* label, std::int64_t rows, std::int64_t out,
                 std::int64_t in, Bytes weights) {
  tape.Run(
      KernelClass::kGemm, label,
      Flops(2.0 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in)),
      weights, {rows, out, in});
}

// As linear: the weight's gradient (all experts at once), then the input's.
void GroupedLinearBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Tensor& g = c.gradient();
  for (const int i : {1, 0}) {
    if (!c.Wants(i)) continue;
    Tensor gradient = tape.New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
    GroupedGemm(tape, c.label(), g.rows(), g.cols(), c.InputShape(0).cols, gradient.bytes());
    c.Give(i, std::move(gradient));
  }
}

// index backward: zeros of the input's size, then index_put with accumulation.
void GatherRowsBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  Tensor gradient = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
  tape.Run(KernelClass::kElementwise, c.label(), Flops(),
           gradient.bytes() + 2 * c.gradient().bytes());
  c.Give(0, std::move(gradient));
}

// sum over each token's experts: the gradient is expanded, which is a view.
void SumExpertsBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  c.Give(0, c.tape().DetachedView(c.gradient(), c.InputShape(0)));
}

}  // namespace

Tensor GroupedLinear(Tape& tape, const Tensor& x, const Tensor& weight, std::int64_t out,
                     const char* label) {
  const Tensor input = Cast(tape, x, weight.dtype(), label);
  Tensor result = tape.New({x.rows(), out}, weight.dtype(), Role::kActivations, label);
  GroupedGemm(tape, label, x.rows(), out, x.cols(), weight.bytes());
  tape.Record(label, GroupedLinearBackward, {input, weight}, result,
              {tape.Wants(weight) ? input : Tensor(), tape.Wants(input) ? weight : Tensor()});
  return result;
}

Tensor GatherRows(Tape& tape, const Tensor& x, std::int64_t rows, const Tensor& indices,
                  const char* label) {
  Tensor out = tape.New({rows, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), 2 * out.bytes());
  tape.Record(label, GatherRowsBackward, {x}, out, {indices});
  return out;
}

Tensor SumExperts(Tape& tape, const Tensor& x, std::int64_t tokens, const char* label) {
  Tensor out = tape.New({tokens, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, SumExpertsBackward, {x}, out);
  return out;
}

}  // namespace trainfit::program
