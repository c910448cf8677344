// Megatron's own operations for a tape: linears split over tensor ranks with their collectives and
// accumulation into main gradients, fused element-wise kernels, unfused core attention, and the
// vocabulary-parallel ends. (megatron/core/tensor_parallel, megatron/core/fusions)
#pragma once

#include <cstdint>

#include "frameworks/megatron/fp8.h"
#include "program/ops.h"

namespace trainfit::frameworks::megatron {

using program::Tape;
using program::Tensor;

// How a linear is split and how its weight's gradient is added up.
struct Split {
  std::int64_t ranks = 1;
  bool sequence = false;  // activations outside are split along the rows over the same ranks
  program::Group group = program::Group::kTensor;
  // The product adds into the fp32 main gradient; else a gradient in the weight's dtype is made
  // first. (fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp32)
  bool fused_accumulation = true;
  // Gathered inputs lie in a global buffer that is there already (tensor_parallel/layers.py), not
  // in tensors of their own (transformer_engine).
  bool shared_buffer = false;
  // Off: what is multiplied is not kept but made again by a checkpoint that discards its output
  // (tensor_parallel/random.py CheckpointWithoutOutput).
  bool keeps_input = true;
  // Of the products: bf16, or as fp8.h says.
  Fp8Form fp8 = Fp8Form::kNone;
};

// x · Wᵀ, W split by rows. Gathers x first under sequence parallelism and saves x as it is before.
// Backward: the gathered x once more, all-reduce (or reduce-scatter) of dx while dW is computed
// (tensor_parallel/layers.py LinearWithGradAccumulationAndAsyncCommunication).
Tensor ColumnLinear(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Split& split, const char* label,
                    program::Role role = program::Role::kActivations);
// x · Wᵀ, W split by columns: the partial sums are all-reduced, or reduce-scattered.
Tensor RowLinear(Tape& tape, const Tensor& x, const Tensor& weight, const Split& split,
                 const char* label);

// residual + dropout(x + bias), one kernel each way; keeps a mask of one byte an element.
// (fusions/fused_bias_dropout.py)
Tensor BiasDropoutAdd(Tape& tape, const Tensor& x, const Tensor& bias, const Tensor& residual,
                      double dropout, const char* label);
// act(gate) · up on the halves of x: N × 2i → N × i; keeps x. (fusions/fused_bias_swiglu.py)
Tensor GatedActivation(Tape& tape, const Tensor& x, const char* label);

// Rotary embedding as one kernel that writes a new tensor; keeps nothing but the shared tables.
// (transformer_engine/pytorch/attention/rope.py FusedRoPEFunc)
Tensor Rotary(Tape& tape, const Tensor& x, const char* label);

// Attention as one kernel on the one matrix of queries, keys and values (layout sbh3d): keeps it,
// the output and the log-sum-exp. `out_cols`: width of the output.
Tensor FusedQkvAttention(Tape& tape, const Tensor& qkv, const program::AttentionShape& shape,
                         const char* label);

// Scores, fused scale-mask-softmax, dropout and the product with the values, as kernels of their
// own (transformer/dot_product_attention.py). Keeps softmax, mask and dropped probabilities;
// `recomputed`: they are made again in backward.
// `own_buffer`: the product writes beside a buffer that lives until it is done.
struct CoreOptions {
  double dropout = 0;
  bool recomputed = false;
  bool own_buffer = true;
};
Tensor CoreAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                     const program::AttentionShape& shape, const CoreOptions& options,
                     const char* label);

// Rows of this rank's part of the table; the sum over tensor ranks completes them.
Tensor VocabularyEmbedding(Tape& tape, std::int64_t tokens, const Tensor& table, const Split& split,
                           const char* label);
// logits.float(), exponentials over it, three small all-reduces; keeps the fp32 softmax, and makes
// the gradient over it, then casts. (tensor_parallel/cross_entropy.py)
Tensor VocabularyCrossEntropy(Tape& tape, const Tensor& logits, const Split& split,
                              const char* label);
// The same under torch.compile (fusions/fused_cross_entropy.py): what is written in place becomes a
// result of its own beside the copy of the logits. Measured as such by Megatron's own tests: 10
// bytes a logit where the plain one takes 6.
Tensor CompiledCrossEntropy(Tape& tape, const Tensor& logits, const Split& split,
                            const char* label);
// The kernel writes the gradient over the logits.
// (transformer_engine/common/triton/cross_entropy.py)
Tensor FusedCrossEntropy(Tape& tape, const Tensor& logits, const Split& split, const char* label);

// Mixture of experts (transformer/moe).

// One product an expert over rows sorted by expert; weight: experts · out × in.
Tensor GroupedLinear(Tape& tape, const Tensor& x, const Tensor& weight, std::int64_t out,
                     const Split& split, const char* label);
// Rows exchanged between expert ranks: as many come as go. x itself when there is one rank.
Tensor AllToAll(Tape& tape, const Tensor& x, std::int64_t ranks, std::int64_t rows,
                const char* label);
// Rows of all expert-tensor ranks; the gradient is reduce-scattered. And the other way round.
Tensor GatherFromRanks(Tape& tape, const Tensor& x, const Split& split, const char* label);
Tensor ReduceToRanks(Tape& tape, const Tensor& x, const Split& split, const char* label);
// Each token's rows added up: index_add or the fused kernel; the gradient is a tensor of x's size.
Tensor Unpermute(Tape& tape, const Tensor& x, std::int64_t tokens, const Tensor& indices,
                 const char* label);
// act(gate) · up · probability in one kernel; keeps x and the probabilities.
// (fusions/fused_bias_swiglu.py WeightedSwiGLUFunction)
Tensor WeightedGatedActivation(Tape& tape, const Tensor& x, const Tensor& probabilities,
                               const char* label);

// Own rows out of all: scatter_to_sequence_parallel_region; the gradient is gathered.
Tensor ScatterRows(Tape& tape, const Tensor& x, const Split& split, const char* label);

}  // namespace trainfit::frameworks::megatron
