#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

// sum_backward: grad.expand(sizes), a view.
void SumColumnsBackward(BackwardContext& c) {
  if (c.Wants(0)) c.Give(0, c.tape().DetachedView(c.gradient(), c.InputShape(0)));
}

// gather_backward: grad.new_zeros(sizes).scatter_add_(…)
void GatherColumnBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = c.tape().New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), gradient.bytes());
  c.Give(0, std::move(gradient));
}

}  // namespace

Tensor SumColumns(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), 1}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), x.bytes());
  tape.Record(label, SumColumnsBackward, {x}, out);
  return out;
}

Tensor GatherColumn(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), 1}, x.dtype(), Role::kActivations, label);
  const Tensor indices = tape.New({x.rows(), 1}, Dtype::kInt64, Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), 2 * out.bytes());
  tape.Record(label, GatherColumnBackward, {x}, out, {indices});
  return out;
}

}  // namespace trainfit::program
