#include <utility>

#include "frameworks/megatron/ops.h"
#include "program/attention_products.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::AttentionProduct;
using program::BackwardContext;
using program::KernelClass;
using program::Role;
using program::Shape;
using spec::Dtype;

enum Number { kRows, kKeys, kQueryLength, kHeads, kHeadDim, kDropout, kOwnBuffer };
enum Saved { kQuery, kKey, kValue, kSoftmax, kMask, kDropped };

// What the forward pass leaves for backward.
struct Probabilities {
  Tensor softmax;
  Tensor mask;
  Tensor dropped;  // what meets the values: `softmax` itself without dropout
};

struct Sizes {
  Shape scores;  // batch × heads × queries, keys
  std::int64_t query_length = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  // megatron/core/fusions/fused_softmax.py is_kernel_available: attn_batches % 4 == 0.
  bool HasFusedSoftmax() const { return scores.rows / query_length % 4 == 0; }
  program::AttentionProducts Products(Dtype dtype) const {
    return {scores.rows / query_length, query_length, scores.cols, head_dim, dtype};
  }
};

// forward_torch_softmax: the mask is filled in place, and fp16 goes through fp32 for it, scaled by
// the number of the layer (apply_query_key_layer_scaling).
Tensor SoftmaxOfTorch(Tape& tape, const Sizes& sizes, Tensor scores, const char* label) {
  const Bytes mask(sizes.scores.rows * sizes.scores.cols);
  const auto fp32 = [&] {
    return tape.New(sizes.scores, Dtype::kFp32, Role::kActivations, "attention scores in fp32");
  };
  const bool is_fp16 = scores.dtype() == Dtype::kFp16;
  if (is_fp16) {
    Tensor wide = fp32();
    tape.Run(KernelClass::kElementwise, "scores to fp32", Flops(), scores.bytes() + wide.bytes());
    scores = fp32();
    tape.Run(KernelClass::kElementwise, "scale", Flops(), 2 * wide.bytes());
  }
  tape.Run(KernelClass::kElementwise, "mask", Flops(), 2 * scores.bytes() + mask);
  Tensor softmax =
      tape.New(sizes.scores, scores.dtype(), Role::kActivations, "attention probabilities");
  tape.Run(KernelClass::kReduction, label, Flops(), 2 * scores.bytes());
  return softmax;
}

void SoftmaxOfTorchBackward(Tape& tape, const Sizes& sizes, const Tensor& softmax, Dtype dtype,
                            const char* label) {
  const Bytes mask(sizes.scores.rows * sizes.scores.cols);
  const Bytes square(sizes.scores.rows * sizes.scores.cols * spec::ElementBytes(dtype));
  const Bytes wide = softmax.bytes();
  const bool is_wide = wide > square;
  if (is_wide) tape.Run(KernelClass::kElementwise, label, Flops(), square + wide);
  tape.Run(KernelClass::kReduction, label, Flops(), 3 * wide);
  tape.Run(KernelClass::kElementwise, "mask", Flops(), 2 * wide + mask);
  if (!is_wide) return;
  tape.Run(KernelClass::kElementwise, "scale", Flops(), 2 * wide);
  tape.Run(KernelClass::kElementwise, label, Flops(), wide + square);
}

Probabilities Attend(Tape& tape, const Sizes& sizes, Dtype dtype, bool has_dropout, bool own_buffer,
                     const char* label) {
  const auto fresh = [&](Dtype type, const char* what) {
    return tape.New(sizes.scores, type, Role::kActivations, what);
  };
  Probabilities made;
  Tensor buffer;
  if (own_buffer) buffer = fresh(dtype, "buffer of attention scores");
  Tensor scores = fresh(dtype, "attention scores");  // baddbmm(buffer, q, kᵀ, beta=0)
  buffer.reset();
  const Bytes square = scores.bytes();
  sizes.Products(dtype).Run(tape, label, AttentionProduct::kScores);
  if (sizes.HasFusedSoftmax()) {
    // Scale, mask and softmax are one kernel (fused_kernels/scaled_upper_triang_masked_softmax.h).
    tape.Run(KernelClass::kReduction, label, Flops(), 2 * square);
    made.softmax = fresh(dtype, "attention probabilities");
    scores.reset();
  } else {
    made.softmax = SoftmaxOfTorch(tape, sizes, std::move(scores), label);
  }
  made.dropped = made.softmax;
  if (made.softmax.dtype() != dtype) {
    made.dropped = fresh(dtype, "attention probabilities");
    tape.Run(KernelClass::kElementwise, label, Flops(), made.softmax.bytes() + square);
  }
  if (!has_dropout) return made;
  tape.Run(KernelClass::kElementwise, label, Flops(),
           2 * square + Bytes(sizes.scores.rows * sizes.scores.cols));
  made.mask = fresh(Dtype::kBool, "attention dropout mask");
  made.dropped = fresh(dtype, "dropped probabilities");
  return made;
}

// dP, then through dropout; the softmax kernel works in place; dq, dk, dv.
// (fused_kernels/scaled_masked_softmax.h: "backward pass is completely in-place")
void CoreAttentionBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Sizes sizes{{c.number(kRows), c.number(kKeys)},
                    c.number(kQueryLength),
                    c.number(kHeads),
                    c.number(kHeadDim)};
  const Dtype dtype = c.InputDtype(0);
  const bool has_dropout = c.number(kDropout) != 0;
  Probabilities kept{c.saved(kSoftmax), c.saved(kMask), c.saved(kDropped)};
  if (!kept.softmax.defined()) {
    tape.set_recomputing(true);
    kept = Attend(tape, sizes, dtype, has_dropout, c.number(kOwnBuffer) != 0, c.label());
    tape.set_recomputing(false);
  }
  const Bytes square(sizes.scores.rows * sizes.scores.cols * spec::ElementBytes(dtype));
  const program::AttentionProducts products = sizes.Products(dtype);
  products.Run(tape, c.label(), AttentionProduct::kTransposed);  // dv
  products.Run(tape, c.label(), AttentionProduct::kScores);      // gradient · vᵀ
  if (has_dropout) {
    tape.Run(KernelClass::kElementwise, c.label(), Flops(), 2 * square + kept.mask.bytes());
  }
  if (sizes.HasFusedSoftmax()) {
    tape.Run(KernelClass::kReduction, c.label(), Flops(), 3 * square);
  } else {
    SoftmaxOfTorchBackward(tape, sizes, kept.softmax, dtype, c.label());
  }
  products.Run(tape, c.label(), AttentionProduct::kValues);      // dq
  products.Run(tape, c.label(), AttentionProduct::kTransposed);  // dk
  const auto gradient = [&](int i) {
    return tape.New(c.InputShape(i), c.InputDtype(i), Role::kActivations, c.label());
  };
  Tensor scores = tape.New(sizes.scores, dtype, Role::kActivations, "gradient of probabilities");
  if (c.Wants(2)) c.Give(2, gradient(2));
  if (has_dropout) {
    scores = tape.New(sizes.scores, dtype, Role::kActivations, "gradient of probabilities");
  }
  if (c.Wants(0)) c.Give(0, gradient(0));
  if (c.Wants(1)) c.Give(1, gradient(1));
}

enum FusedNumber {
  kFusedPairs,
  kFusedHeads,
  kFusedHeadDim,
  kFusedLength,
  kFusedBatch,
  kFusedKernel
};

double KernelFlops(std::int64_t pairs, std::int64_t heads, std::int64_t head_dim, double matmuls) {
  return 2.0 * matmuls * static_cast<double>(pairs) * static_cast<double>(heads) *
         static_cast<double>(head_dim);
}

// Five products instead of two; dq is summed up in fp32 beside the gradients.
void FusedQkvAttentionBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const std::int64_t heads = c.number(kFusedHeads);
  const std::int64_t head_dim = c.number(kFusedHeadDim);
  tape.Run({.kernel = KernelClass::kAttentionBackward,
            .label = c.label(),
            .flops = Flops(KernelFlops(c.number(kFusedPairs), heads, head_dim, 5)),
            .moved = 4 * c.gradient().bytes() + c.saved(0).bytes(),
            .shape = {c.number(kFusedLength), heads, head_dim},
            .groups = c.number(kFusedBatch),
            .dtype = c.InputDtype(0),
            .asynchronous = c.number(kFusedKernel) != 0});
  Tensor gradient = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
  const Tensor row_sums =
      tape.New({c.gradient().rows(), heads}, Dtype::kFp32, Role::kTemporary, c.label());
  const Tensor accumulator = tape.New({c.gradient().rows(), heads * head_dim}, Dtype::kFp32,
                                      Role::kTemporary, "fp32 sum of dq");
  c.Give(0, std::move(gradient));
}

}  // namespace

Tensor FusedQkvAttention(Tape& tape, const Tensor& qkv, const program::AttentionShape& shape,
                         const char* label) {
  Tensor out =
      tape.New({qkv.rows(), shape.heads * shape.head_dim}, qkv.dtype(), Role::kActivations, label);
  const Tensor lse =
      tape.New({qkv.rows(), shape.heads}, Dtype::kFp32, Role::kActivations, "log-sum-exp");
  tape.Run({.kernel = KernelClass::kAttentionForward,
            .label = label,
            .flops = Flops(KernelFlops(shape.Pairs(), shape.heads, shape.head_dim, 2)),
            .moved = qkv.bytes() + out.bytes(),
            .shape = {shape.query_length, shape.heads, shape.head_dim},
            .groups = shape.batch,
            .dtype = qkv.dtype(),
            .asynchronous = shape.asynchronous});
  tape.Record(label, FusedQkvAttentionBackward, {qkv}, out, {qkv, out, lse},
              {shape.Pairs(), shape.heads, shape.head_dim, shape.query_length, shape.batch,
               shape.asynchronous ? 1 : 0});
  return out;
}

Tensor CoreAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                     const program::AttentionShape& shape, const CoreOptions& options,
                     const char* label) {
  const Sizes sizes{{shape.batch * shape.heads * shape.query_length, shape.key_length},
                    shape.query_length,
                    shape.heads,
                    shape.head_dim};
  const bool has_dropout = options.dropout > 0;
  Tensor out;
  Probabilities made = Attend(tape, sizes, q.dtype(), has_dropout, options.own_buffer, label);
  const std::int64_t width = q.cols() / k.cols() * v.cols();
  {
    sizes.Products(q.dtype()).Run(tape, label, AttentionProduct::kValues);
    const Tensor context = tape.New({q.rows(), width}, q.dtype(), Role::kActivations, label);
    if (options.recomputed) made = {};
    // context.permute(2, 0, 1, 3).contiguous()
    out = tape.New({q.rows(), width}, q.dtype(), Role::kActivations, label);
    tape.Run(KernelClass::kElementwise, label, Flops(), 2 * out.bytes());
  }
  tape.Record(label, CoreAttentionBackward, {q, k, v}, out,
              {q, k, v, made.softmax, made.mask, made.dropped},
              {sizes.scores.rows, sizes.scores.cols, sizes.query_length, sizes.heads,
               sizes.head_dim, has_dropout ? 1 : 0, options.own_buffer ? 1 : 0});
  return out;
}

}  // namespace trainfit::frameworks::megatron
