#include "frameworks/megatron/ops.h"

namespace trainfit::frameworks::megatron {
namespace {

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
  double Flops(int matmuls) const {
    return 2.0 * matmuls * static_cast<double>(scores.rows) * static_cast<double>(scores.cols) *
           static_cast<double>(head_dim);
  }
};

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
  tape.Run(KernelClass::kAttentionForward, label, Flops(sizes.Flops(2)), 6 * square,
           {sizes.query_length, sizes.heads, sizes.head_dim});
  made.softmax = fresh(dtype, "attention probabilities");
  scores.reset();
  made.dropped = made.softmax;
  if (!has_dropout) return made;
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
    kept = Attend(tape, sizes, dtype, has_dropout, c.number(kOwnBuffer) != 0, c.label());
  }
  tape.Run(KernelClass::kAttentionBackward, c.label(), Flops(sizes.Flops(4)),
           7 * kept.softmax.bytes(), {sizes.query_length, sizes.heads, sizes.head_dim});
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

enum FusedNumber { kFusedPairs, kFusedHeads, kFusedHeadDim, kFusedLength };

double KernelFlops(std::int64_t pairs, std::int64_t heads, std::int64_t head_dim, double matmuls) {
  return 2.0 * matmuls * static_cast<double>(pairs) * static_cast<double>(heads) *
         static_cast<double>(head_dim);
}

// Five products instead of two; dq is summed up in fp32 beside the gradients.
void FusedQkvAttentionBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const std::int64_t heads = c.number(kFusedHeads);
  const std::int64_t head_dim = c.number(kFusedHeadDim);
  tape.Run(KernelClass::kAttentionBackward, c.label(),
           Flops(KernelFlops(c.number(kFusedPairs), heads, head_dim, 5)),
           4 * c.gradient().bytes() + c.saved(0).bytes(),
           {c.number(kFusedLength), heads, head_dim});
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
  tape.Run(KernelClass::kAttentionForward, label,
           Flops(KernelFlops(shape.Pairs(), shape.heads, shape.head_dim, 2)),
           qkv.bytes() + out.bytes(), {shape.query_length, shape.heads, shape.head_dim});
  tape.Record(label, FusedQkvAttentionBackward, {qkv}, out, {qkv, out, lse},
              {shape.Pairs(), shape.heads, shape.head_dim, shape.query_length});
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
