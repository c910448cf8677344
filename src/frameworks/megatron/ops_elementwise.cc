#include "frameworks/megatron/ops.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::BackwardContext;
using program::Collective;
using program::Group;
using program::KernelClass;
using program::Role;
using program::Stream;
using spec::Dtype;

Tensor NewGradient(BackwardContext& c, int i) {
  return c.tape().New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
}

// Without dropout both branches receive the same storage.
void BiasDropoutAddBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const bool has_mask = c.saved(0).defined();
  if (c.Wants(2)) c.Give(2, c.gradient());
  Tensor branch = c.gradient();
  if (has_mask && (c.Wants(0) || c.Wants(1))) {
    branch = NewGradient(c, 0);
    tape.Run(KernelClass::kElementwise, c.label(), Flops(),
             2 * branch.bytes() + c.saved(0).bytes());
  }
  if (c.Wants(1)) {
    tape.Run(KernelClass::kReduction, c.label(), Flops(), branch.bytes());
    c.Give(1, NewGradient(c, 1));
  }
  if (c.Wants(0)) c.Give(0, std::move(branch));
}

void GatedActivationBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(),
               2 * gradient.bytes() + c.gradient().bytes());
  c.Give(0, std::move(gradient));
}

void RotaryBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor gradient = NewGradient(c, 0);
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

void ScatterRowsBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tensor full = NewGradient(c, 0);
  c.tape().Exchange(Collective::kAllGather, static_cast<Group>(c.number(0)), c.label(),
                    full.bytes(), Stream::kCompute);
  c.Give(0, std::move(full));
}

}  // namespace

Tensor BiasDropoutAdd(Tape& tape, const Tensor& x, const Tensor& bias, const Tensor& residual,
                      double dropout, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, residual.dtype(), Role::kActivations, label);
  Tensor mask;
  if (dropout > 0) {
    mask = tape.New({x.rows(), x.cols()}, Dtype::kBool, Role::kActivations, "dropout mask");
  }
  tape.Run(KernelClass::kElementwise, label, Flops(),
           3 * out.bytes() + (mask.defined() ? mask.bytes() : Bytes()));
  tape.Record(label, BiasDropoutAddBackward, {x, bias, residual}, out, {mask});
  return out;
}

Tensor GatedActivation(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols() / 2}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, GatedActivationBackward, {x}, out, {x});
  return out;
}

Tensor Rotary(Tape& tape, const Tensor& x, const char* label) {
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), 2 * x.bytes());
  tape.Record(label, RotaryBackward, {x}, out);
  return out;
}

Tensor ScatterRows(Tape& tape, const Tensor& x, const Split& split, const char* label) {
  Tensor own = tape.New({x.rows() / split.ranks, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kCopy, label, Flops(), 2 * own.bytes());
  tape.Record(label, ScatterRowsBackward, {x}, own, {}, {static_cast<std::int64_t>(split.group)});
  return own;
}

}  // namespace trainfit::frameworks::megatron
