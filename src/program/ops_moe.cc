#include <algorithm>

#include "program/ops.h"

namespace trainfit::program {
namespace {

// Products of `experts` matrices in one launch. `m` is the sum of all experts' rows.
void GroupedGemm(Tape& tape, const char* label, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t experts, spec::Dtype dtype) {
  tape.Run({.kernel = KernelClass::kGemm,
            .label = label,
            .flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) *
                           static_cast<double>(k)),
            .moved = Bytes((m * k + experts * n * k + m * n) * spec::ElementBytes(dtype)),
            .shape = {m, n, k},
            .groups = experts,
            .dtype = dtype});
}

// As linear: the weight's gradient (all experts at once), then the input's.
void GroupedLinearBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Tensor& g = c.gradient();
  const std::int64_t experts = c.number(0);
  const std::int64_t in = c.InputShape(0).cols;
  if (c.Wants(1)) {
    Tensor gradient = tape.New(c.InputShape(1), c.InputDtype(1), Role::kActivations, c.label());
    GroupedGemm(tape, c.label(), experts * g.cols(), in, CeilDiv(g.rows(), experts), experts,
                g.dtype());
    c.Give(1, std::move(gradient));
  }
  if (c.Wants(0)) {
    Tensor gradient = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
    GroupedGemm(tape, c.label(), g.rows(), in, g.cols(), experts, g.dtype());
    c.Give(0, std::move(gradient));
  }
}

// index backward: zeros of the input's size, then index_put with accumulation.
void GatherRowsBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  Tensor gradient = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
  // The zeros; then indices sorted and rows added in order (ATen native/cuda/Indexing.cu,
  // index_put_with_sort_kernel).
  tape.Run(KernelClass::kElementwise, c.label(), Flops(), gradient.bytes());
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = c.label(),
            .moved = 3 * c.gradient().bytes(),
            .kernels = 6});
  c.Give(0, std::move(gradient));
}

// index_add: the output's gradient goes on, the rows' is gathered from it (index_select).
void IndexAddBackward(BackwardContext& c) {
  if (c.Wants(0)) c.Give(0, c.gradient());
  if (!c.Wants(1)) return;
  Tape& tape = c.tape();
  Tensor rows = tape.New(c.InputShape(1), c.InputDtype(1), Role::kActivations, c.label());
  tape.Run(KernelClass::kElementwise, c.label(), Flops(), 2 * rows.bytes());
  c.Give(1, std::move(rows));
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
  const std::int64_t experts = std::max<std::int64_t>(1, weight.rows() / out);
  GroupedGemm(tape, label, x.rows(), out, x.cols(), experts, weight.dtype());
  tape.Record(label, GroupedLinearBackward, {input, weight}, result,
              {tape.Wants(weight) ? input : Tensor(), tape.Wants(input) ? weight : Tensor()},
              {experts});
  return result;
}

Tensor GatherRows(Tape& tape, const Tensor& x, std::int64_t rows, const Tensor& indices,
                  const char* label) {
  Tensor out = tape.New({rows, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kElementwise, label, Flops(), 2 * out.bytes());
  tape.Record(label, GatherRowsBackward, {x}, out, {indices});
  return out;
}

Tensor IndexAdd(Tape& tape, const Tensor& out, const Tensor& rows, const Tensor& indices,
                const char* label) {
  Tensor sum = tape.DetachedView(out, {out.rows(), out.cols()});
  tape.Run(KernelClass::kElementwise, label, Flops(), 3 * rows.bytes());
  tape.Record(label, IndexAddBackward, {out, rows}, sum, {indices});
  return sum;
}

Tensor SumExperts(Tape& tape, const Tensor& x, std::int64_t tokens, const char* label) {
  Tensor out = tape.New({tokens, x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kReduction, label, Flops(), x.bytes() + out.bytes());
  tape.Record(label, SumExpertsBackward, {x}, out);
  return out;
}

}  // namespace trainfit::program
