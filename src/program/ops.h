// PyTorch's operations for a tape: what each allocates, saves and runs, forward and backward.
//
// The save rules are those of tools/autograd/derivatives.yaml; temporaries of a backward formula
// are those of torch/csrc/autograd/FunctionsManual.cpp. Shapes are rows × columns: N = tokens on
// this rank, features in the columns. Nothing here knows a model or a framework.
#pragma once

#include "program/tape.h"

namespace trainfit::program {

// Element-wise (ops_elementwise.cc).

// x.to(dtype); x itself when it has that dtype already. Saves nothing.
Tensor Cast(Tape& tape, const Tensor& x, spec::Dtype dtype, const char* label,
            Role role = Role::kActivations);
// a + b. Saves nothing; the gradient goes on to both without a copy.
Tensor Add(Tape& tape, const Tensor& a, const Tensor& b, const char* label);
// a += b: a's bytes, a's type. Saves nothing.
Tensor AddInPlace(Tape& tape, const Tensor& a, const Tensor& b, const char* label);
// x * number. Saves nothing.
Tensor Scale(Tape& tape, const Tensor& x, const char* label);
// a * b with broadcasting of b over rows (b: 1 × cols) or columns (b: rows × 1).
// Saves a if b wants a gradient, b if a does.
Tensor Multiply(Tape& tape, const Tensor& a, const Tensor& b, const char* label);
// x ** exponent; saves x.
Tensor Power(Tape& tape, const Tensor& x, const char* label);
// Mean over the columns: rows × 1. Saves nothing.
Tensor MeanColumns(Tape& tape, const Tensor& x, const char* label);
// 1 / sqrt(x): saves its result.
Tensor Rsqrt(Tape& tape, const Tensor& x, const char* label);
// silu, gelu, relu as one kernel; saves its input.
Tensor Activate(Tape& tape, const Tensor& x, const char* label);
// tanh, sigmoid: saves its result.
Tensor Squash(Tape& tape, const Tensor& x, const char* label);
// softmax over the columns as one kernel; saves its result.
Tensor Softmax(Tape& tape, const Tensor& x, const char* label);
// nn.Dropout with p > 0: saves a mask of one byte an element.
Tensor Dropout(Tape& tape, const Tensor& x, const char* label);
// One kernel that reads `gate_up` (N × 2i), or gate and up, and saves what it read (Liger SwiGLU):
// its backward writes the gradients over the saved inputs.
Tensor FusedGatedActivation(Tape& tape, const Tensor& gate, const Tensor& up, const char* label);
// Columns [begin, begin + cols) as a view: the gradient is a zero-padded tensor of x's size.
Tensor SliceColumns(Tape& tape, const Tensor& x, std::int64_t cols, const char* label);
// torch.chunk / split into equal or unequal parts, all views of x: one gradient of x's size.
std::array<Tensor, 3> SplitColumns(Tape& tape, const Tensor& x, std::array<std::int64_t, 3> cols,
                                   const char* label);
// x.contiguous() of a transposed view, repeat_interleave, expand + reshape: a copy with `cols`
// columns. Saves nothing.
Tensor CopyColumns(Tape& tape, const Tensor& x, std::int64_t cols, const char* label);

// The first `rows` rows, as a view or as a contiguous copy; the gradient is padded with zeros to
// the size of x.
Tensor SliceRows(Tape& tape, const Tensor& x, std::int64_t rows, bool copies, const char* label,
                 Role role = Role::kActivations);

// torch.cat of two along the columns; saves nothing, the gradient is split into views.
Tensor Concatenate(Tape& tape, const Tensor& a, const Tensor& b, const char* label);

// Reductions (ops_reduce.cc).

// Sum over the columns: rows × 1. Saves nothing; the gradient is expanded, without a copy.
Tensor SumColumns(Tape& tape, const Tensor& x, const char* label);
// One column of each row (gather): saves the indices; the gradient is scattered into zeros.
Tensor GatherColumn(Tape& tape, const Tensor& x, const char* label);

// Norms (ops_norm.cc).

// F.layer_norm: saves x, mean and rstd (fp32 on CUDA). Under autocast it runs in fp32.
Tensor LayerNorm(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const char* label);
// One kernel, saves x and rstd (nn.RMSNorm; Liger with `in_place_backward`).
Tensor FusedRmsNorm(Tape& tape, const Tensor& x, const Tensor& weight, bool in_place_backward,
                    const char* label);

// Matrices (ops_matmul.cc).

// x · Wᵀ + b. Saves x if W trains and W if x wants a gradient. Under autocast, casts both first:
// the weight's cast is cached when it is a trainable fp32 leaf.
Tensor Linear(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const char* label, Role output_role = Role::kActivations);
// bitsandbytes MatMul4Bit: dequantizes the frozen weight (out × in) in forward and again in
// backward. The output has x's dtype.
// `absmax_bytes`: fp32 scales rebuilt when they are quantized themselves, else 0.
// `keeps_input`: older versions hold the input until backward, which makes nothing of it.
Tensor Linear4bit(Tape& tape, const Tensor& x, std::int64_t out, Bytes absmax_bytes,
                  spec::Dtype compute, bool keeps_input, const char* label);

// bitsandbytes MatMul8bitLt on a frozen weight (out × in): quantizes its input row by row,
// multiplies in int8, scales; saves the input; backward multiplies with a dequantized copy of the
// weight.
Tensor Linear8bit(Tape& tape, const Tensor& x, std::int64_t out, const char* label);

// Mixture of experts (ops_moe.cc).

// One GEMM an expert over rows sorted by expert; weight: experts · out × in. Not known to autocast:
// x is cast to the weight's dtype. Saves as Linear does.
Tensor GroupedLinear(Tape& tape, const Tensor& x, const Tensor& weight, std::int64_t out,
                     const char* label);
// x[indices]: a copy of `rows` rows; saves the indices.
Tensor GatherRows(Tape& tape, const Tensor& x, std::int64_t rows, const Tensor& indices,
                  const char* label);
// out[indices] += rows, in place; saves the indices, the gradient of the rows is gathered.
Tensor IndexAdd(Tape& tape, const Tensor& out, const Tensor& rows, const Tensor& indices,
                const char* label);
// Rows of one token added up: rows → tokens. Saves nothing.
Tensor SumExperts(Tape& tape, const Tensor& x, std::int64_t tokens, const char* label);

// Attention (ops_attention.cc).

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool causal = true;
  std::int64_t window = 0;     // 0: none
  bool asynchronous = false;   // flash-attention 3, cuDNN
  bool first_flash = false;    // kernels before flash-attention 2
  std::int64_t Pairs() const;  // query-key pairs of one head that are computed, whole batch
};

// q · cos + rotate_half(q) · sin, element-wise eager as in transformers. `cos_sin`: shared tables.
Tensor RotaryEager(Tape& tape, const Tensor& x, const Tensor& cos_sin, const char* label);
// The same in complex or fp32 numbers; saves nothing of x's size.
// (torchtitan models/llama3/model/model.py apply_rotary_emb)
Tensor RotaryInFp32(Tape& tape, const Tensor& x, const char* label);
// One kernel (Liger, Unsloth, flash-attn's rotary).
Tensor RotaryFused(Tape& tape, const Tensor& x, const char* label);
// flash-attention: saves q, k, v, out and the fp32 log-sum-exp. q: N × heads·head_dim,
// k, v: N × kv_heads·head_dim (or heads·head_dim when they were repeated).
Tensor FlashAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionShape& shape, const char* label);
// matmul, mask, softmax in fp32, cast, dropout, matmul as separate kernels. k, v already repeated.
Tensor EagerAttention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionShape& shape, double dropout, const char* label);

// Ends (ops_loss.cc).

// rows of the table; the backward makes a dense gradient of the table's size.
Tensor Embedding(Tape& tape, std::int64_t tokens, const Tensor& table, const char* label);
// log_softmax + nll_loss on logits as they are: saves the log-probabilities. Returns the loss.
Tensor CrossEntropy(Tape& tape, const Tensor& logits, const char* label);
// Cross entropy whose kernel writes the gradient over the logits (Liger, Unsloth, fms Triton CE).
Tensor CrossEntropyInPlace(Tape& tape, const Tensor& logits, const char* label);
// Cross entropy of one kernel on logits as they are; saves them, and the gradient is a tensor of
// its own. (flash_attn/ops/triton/cross_entropy.py, inplace_backward=False)
Tensor CrossEntropyFused(Tape& tape, const Tensor& logits, const char* label);
struct PiecesSettings {
  std::int64_t pieces = 1;
  bool upcast = false;  // log-probabilities in fp32
  bool hold = false;    // the logits live through backward
  bool quantized =
      false;  // the weight is frozen in 4 bits: a matrix of it is made for each product
};
// Head and loss piece by piece: every piece's logits are made first, then each piece's loss, which
// saves its log-probabilities.
// (torchtune modules/loss/ce_chunked_output_loss.py; litgpt utils.py chunked_cross_entropy)
Tensor CrossEntropyByPieces(Tape& tape, const Tensor& hidden, const Tensor& weight,
                            const Tensor& bias, const PiecesSettings& settings, const char* label);
// Liger's fused linear cross entropy: all gradients are made in forward, chunk by chunk.
// `separate_products`: older versions make each chunk's head gradient, and its fp32 copy, as
// tensors of their own instead of adding into the accumulator.
// (liger_kernel/ops/fused_linear_cross_entropy.py)
Tensor FusedLinearCrossEntropy(Tape& tape, const Tensor& hidden, const Tensor& weight,
                               const Tensor& bias, bool separate_products, const char* label);
// TRL's chunked log-probabilities: tiles of `tile_tokens` × `tile_vocab` logits, recomputed in
// backward, gradients accumulated in fp32. (trl/kernels/chunked_logprob.py)
Tensor ChunkedLogProb(Tape& tape, const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                      std::int64_t tile_tokens, std::int64_t tile_vocab, const char* label);

}  // namespace trainfit::program
