#include <algorithm>

#include "program/attention_products.h"
#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

enum Number { kBatch, kQueryLength, kKeyLength, kHeads, kKvHeads, kHeadDim, kPairs, kKernel };
// Values of kKernel.
enum Kernel : std::int64_t { kSecondFlash, kAsynchronous, kFirstFlash };

// flash-attention pads rows to 128 and head dimensions to a multiple of 32 in its fp32 buffers
// (csrc/flash_attn/flash_api.cpp, mha_bwd: seqlen_q_rounded, head_size_rounded).
constexpr std::int64_t kFlashRowRounding = 128;
constexpr std::int64_t kFlashHeadRounding = 32;

double AttentionFlops(std::int64_t pairs, std::int64_t heads, std::int64_t head_dim, int matmuls) {
  return 2.0 * matmuls * static_cast<double>(pairs) * static_cast<double>(heads) *
         static_cast<double>(head_dim);
}

// q and k halves: neg + cat forward; narrow, neg and two slice_backward tensors in backward.
void RotaryEagerBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const Shape x = c.InputShape(0);
  const Dtype dtype = c.InputDtype(0);
  // Two products, two padded slices and a negation, three sums.
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = c.label(),
            .moved = 16 * c.gradient().bytes(),
            .kernels = 10});
  const auto fresh = [&](std::int64_t cols, Dtype type) {
    return tape.New({x.rows, cols}, type, Role::kActivations, c.label());
  };
  Tensor rotated = fresh(x.cols, dtype);      // g · sin
  Tensor negated = fresh(x.cols / 2, dtype);  // of the first half
  Tensor second_half = fresh(x.cols, dtype);  // slice_backward of x2
  negated.reset();
  Tensor gradient = fresh(x.cols, dtype);  // slice_backward of x1, summed into
  second_half.reset();
  rotated.reset();
  const Tensor direct = fresh(x.cols, dtype);  // g · cos, summed into the gradient
  c.Give(0, std::move(gradient));
}

void RotaryFusedBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * c.gradient().bytes());
  c.Give(0, c.gradient());  // in place
}

// dq, dk, dv; fp32 dq accumulator and row sums; for grouped queries the expanded dk, dv as well.
void FlashAttentionBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const std::int64_t rows =
      c.number(kBatch) * RoundUp(c.number(kQueryLength), kFlashRowRounding) * c.number(kHeads);
  const std::int64_t head_dim = RoundUp(c.number(kHeadDim), kFlashHeadRounding);
  // Row sums of gradient × output, the kernel itself, the accumulator cast to dq; sums over the
  // queries' heads of a group.
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = c.label(),
            .moved = 6 * c.gradient().bytes(),
            .kernels = c.number(kKvHeads) < c.number(kHeads) ? 4 : 2});
  tape.Run({.kernel = KernelClass::kAttentionBackward,
            .label = c.label(),
            .flops = Flops(
                2.5 * AttentionFlops(c.number(kPairs), c.number(kHeads), c.number(kHeadDim), 2)),
            .moved = 8 * c.gradient().bytes(),
            .shape = {c.number(kQueryLength), c.number(kHeads), c.number(kHeadDim)},
            .groups = c.number(kBatch),
            .dtype = c.InputDtype(0),
            .first_flash = c.number(kKernel) == kFirstFlash,
            .asynchronous = c.number(kKernel) == kAsynchronous});
  std::array<Tensor, 3> gradients;
  for (const int i : {0, 1, 2}) {
    gradients[static_cast<std::size_t>(i)] =
        tape.New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
  }
  const Tensor row_sums = tape.New({rows, 1}, Dtype::kFp32, Role::kTemporary, c.label());
  const Tensor accumulator = tape.New({rows, head_dim}, Dtype::kFp32, Role::kTemporary, c.label());
  Tensor expanded_k;
  Tensor expanded_v;
  if (c.number(kKvHeads) < c.number(kHeads)) {
    const Shape q = c.InputShape(0);
    expanded_k = tape.New(q, c.InputDtype(1), Role::kTemporary, c.label());
    expanded_v = tape.New(q, c.InputDtype(2), Role::kTemporary, c.label());
  }
  for (const int i : {0, 1, 2}) {
    if (c.Wants(i)) c.Give(i, std::move(gradients[static_cast<std::size_t>(i)]));
  }
}

void RotaryInFp32Backward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const Shape x = c.InputShape(0);
  Tensor wide = tape.New(x, Dtype::kFp32, Role::kActivations, c.label());
  const Tensor turned = tape.New(x, Dtype::kFp32, Role::kActivations, c.label());
  wide.reset();
  tape.Run(KernelClass::kElementwise, c.label(), Flops(), 2 * turned.bytes());
  c.Give(0, tape.New(x, c.InputDtype(0), Role::kActivations, c.label()));
}

// Softmax over keys of batch × heads × queries rows.
void EagerAttentionBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Shape scores{c.number(kBatch) * c.number(kHeads) * c.number(kQueryLength),
                     c.number(kKeyLength)};
  const Dtype dtype = c.InputDtype(0);
  const bool has_dropout = c.saved(5).defined();
  const auto fresh = [&](Dtype type) {
    return tape.New(scores, type, Role::kActivations, c.label());
  };
  const AttentionProducts products{c.number(kBatch) * c.number(kHeads), c.number(kQueryLength),
                                   c.number(kKeyLength), c.number(kHeadDim), dtype};
  products.Run(tape, c.label(), AttentionProduct::kTransposed);  // dv
  products.Run(tape, c.label(), AttentionProduct::kScores);
  // softmax_backward in fp32, and the scaling's.
  tape.Run(KernelClass::kReduction, c.label(), Flops(), Bytes(12 * scores.rows * scores.cols));
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = c.label(),
            .moved = (has_dropout ? 15 : 10) * Bytes(scores.rows * scores.cols),
            .kernels = has_dropout ? 3 : 2});
  products.Run(tape, c.label(), AttentionProduct::kValues);      // dq
  products.Run(tape, c.label(), AttentionProduct::kTransposed);  // dk
  Tensor dv;
  if (c.Wants(2)) dv = tape.New(c.InputShape(2), dtype, Role::kActivations, c.label());
  Tensor d_probabilities = fresh(dtype);
  if (has_dropout) d_probabilities = fresh(dtype);
  Tensor d_softmax = Cast(tape, d_probabilities, Dtype::kFp32, c.label());
  d_probabilities.reset();
  Tensor d_input = fresh(Dtype::kFp32);
  d_softmax.reset();
  Tensor d_scores = dtype == Dtype::kFp32 ? d_input : fresh(dtype);
  d_input.reset();
  Tensor d_scaled = fresh(dtype);  // the scaling's backward
  d_scores.reset();
  if (c.Wants(0)) c.Give(0, tape.New(c.InputShape(0), dtype, Role::kActivations, c.label()));
  if (c.Wants(1)) c.Give(1, tape.New(c.InputShape(1), dtype, Role::kActivations, c.label()));
  if (dv.defined()) c.Give(2, std::move(dv));
}

}  // namespace

std::int64_t AttentionShape::Pairs() const {
  const std::int64_t reach = window > 0 ? std::min(window, key_length) : key_length;
  if (!causal) return batch * query_length * reach;
  // Queries before the window is full see fewer keys; afterwards `reach` each.
  const std::int64_t ramp = std::min(reach, query_length);
  return batch * (ramp * (ramp + 1) / 2 + (query_length - ramp) * reach);
}

Tensor RotaryEager(Tape& tape, const Tensor& x, const Tensor& cos_sin, const char* label) {
  // The tables have the dtype of the residual stream; the products promote to the wider of both.
  const Dtype wide = spec::ElementBytes(cos_sin.dtype()) > spec::ElementBytes(x.dtype())
                         ? cos_sin.dtype()
                         : x.dtype();
  const auto fresh = [&](std::int64_t cols, Dtype dtype) {
    return tape.New({x.rows(), cols}, dtype, Role::kActivations, label);
  };
  tape.Run(
      {.kernel = KernelClass::kElementwise, .label = label, .moved = 10 * x.bytes(), .kernels = 5});
  const Tensor direct = fresh(x.cols(), wide);  // x · cos
  Tensor negated = fresh(x.cols() / 2, x.dtype());
  Tensor rotated = fresh(x.cols(), x.dtype());  // cat(-x2, x1)
  negated.reset();
  const Tensor scaled = fresh(x.cols(), wide);  // rotated · sin
  rotated.reset();
  Tensor out = fresh(x.cols(), wide);
  tape.Record(label, RotaryEagerBackward, {x}, out, {cos_sin});
  return out;
}

Tensor RotaryInFp32(Tape& tape, const Tensor& x, const char* label) {
  tape.Run(KernelClass::kElementwise, label, Flops(), 8 * x.bytes());
  Tensor wide = tape.New({x.rows(), x.cols()}, Dtype::kFp32, Role::kActivations, label);
  Tensor turned = tape.New({x.rows(), x.cols()}, Dtype::kFp32, Role::kActivations, label);
  wide.reset();
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, label);
  tape.Record(label, RotaryInFp32Backward, {x}, out);
  return out;
}

Tensor RotaryFused(Tape& tape, const Tensor& x, const char* label) {
  tape.Run(KernelClass::kElementwise, label, Flops(), 2 * x.bytes());
  Tensor out = tape.DetachedView(x, {x.rows(), x.cols()});
  tape.Record(label, RotaryFusedBackward, {x}, out);
  return out;
}

Tensor FlashAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionShape& shape, const char* label) {
  const double flops = AttentionFlops(shape.Pairs(), shape.heads, shape.head_dim, 2);
  Tensor out = tape.TakeKept(KernelClass::kAttentionForward);
  Tensor lse = tape.TakeKept(KernelClass::kAttentionForward);
  if (!out.defined()) {
    out =
        tape.New({q.rows(), v.cols() * q.cols() / k.cols()}, q.dtype(), Role::kActivations, label);
    lse = tape.New({q.rows(), shape.heads}, Dtype::kFp32, Role::kActivations, label);
    tape.Run({.kernel = KernelClass::kAttentionForward,
              .label = label,
              .flops = Flops(flops),
              .moved = q.bytes() + k.bytes() + v.bytes() + out.bytes(),
              .shape = {shape.query_length, shape.heads, shape.head_dim},
              .groups = shape.batch,
              .dtype = q.dtype(),
              .first_flash = shape.first_flash,
              .asynchronous = shape.asynchronous});
    tape.Keep(KernelClass::kAttentionForward, out);
    tape.Keep(KernelClass::kAttentionForward, lse);
  }
  tape.Record(label, FlashAttentionBackward, {q, k, v}, out, {q, k, v, out, lse},
              {shape.batch, shape.query_length, shape.key_length, shape.heads,
               k.cols() == q.cols() ? shape.heads : shape.kv_heads, shape.head_dim, shape.Pairs(),
               shape.asynchronous  ? kAsynchronous
               : shape.first_flash ? kFirstFlash
                                   : kSecondFlash});
  return out;
}

Tensor EagerAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionShape& shape, double dropout, const char* label) {
  const Shape scores_shape{shape.batch * shape.heads * shape.query_length, shape.key_length};
  const auto fresh = [&](Dtype type) {
    return tape.New(scores_shape, type, Role::kActivations, label);
  };
  const AttentionProducts products{shape.batch * shape.heads, shape.query_length, shape.key_length,
                                   shape.head_dim, q.dtype()};
  products.Run(tape, label, AttentionProduct::kScores);
  // Scaling, mask; softmax in fp32 and back. (The cast to fp32 counts for itself.)
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = label,
            .moved = (dropout > 0 ? 13 : 8) * Bytes(scores_shape.rows * scores_shape.cols),
            .kernels = dropout > 0 ? 3 : 2});
  tape.Run({.kernel = KernelClass::kReduction,
            .label = label,
            .moved = 14 * Bytes(scores_shape.rows * scores_shape.cols),
            .kernels = 2});
  Tensor scores = fresh(q.dtype());  // q kᵀ
  scores = fresh(q.dtype());         // · scaling
  scores = fresh(q.dtype());         // + mask
  Tensor upcast = Cast(tape, scores, Dtype::kFp32, label);
  Tensor softmax = fresh(Dtype::kFp32);
  upcast.reset();
  Tensor probabilities = q.dtype() == Dtype::kFp32 ? softmax : fresh(q.dtype());
  scores.reset();
  Tensor mask;
  if (dropout > 0) {
    mask = fresh(Dtype::kBool);
    probabilities = fresh(q.dtype());
  }
  Tensor out = tape.New({q.rows(), q.cols()}, q.dtype(), Role::kActivations, label);
  products.Run(tape, label, AttentionProduct::kValues);
  // transpose(1, 2).contiguous(): a second tensor of the output's size, kept by the projection.
  tape.Record(label, EagerAttentionBackward, {q, k, v}, out,
              {q, k, v, softmax, probabilities, mask},
              {shape.batch, shape.query_length, shape.key_length, shape.heads, shape.heads,
               shape.head_dim, shape.batch * shape.query_length * shape.key_length});
  return CopyColumns(tape, out, out.cols(), label);
}

}  // namespace trainfit::program
