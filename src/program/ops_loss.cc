#include <algorithm>
#include <bit>

#include "program/ops.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

// embedding_dense_backward: a dense gradient of the whole table, plus sorted indices.
void EmbeddingBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  const std::int64_t tokens = c.gradient().rows();
  Tensor table = tape.New(c.InputShape(0), c.InputDtype(0), Role::kActivations, c.label());
  const Tensor sorted = tape.New({tokens, 2}, Dtype::kInt64, Role::kTemporary, c.label());
  // Zeros of the table's size; indices sorted, counted and made unique; rows added up.
  // (aten/src/ATen/native/cuda/Embedding.cu, embedding_dense_backward_cuda)
  tape.Run(KernelClass::kEmbedding, c.label(), Flops(), table.bytes());
  tape.Run({.kernel = KernelClass::kEmbedding,
            .label = c.label(),
            .moved = 2 * c.gradient().bytes(),
            .kernels = 8});
  c.Give(0, std::move(table));
}

// nll_loss_backward fills a tensor of the logits' size, log_softmax_backward makes another one.
void CrossEntropyBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Shape logits = c.InputShape(0);
  const Tensor nll = tape.New(logits, c.saved(0).dtype(), Role::kLogits, "nll_loss gradient");
  Tensor gradient = tape.New(logits, c.InputDtype(0), Role::kLogits, "log_softmax gradient");
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = c.label(),
            .moved = nll.bytes(),
            .kernels = 2});
  tape.Run(KernelClass::kReduction, c.label(), Flops(), 3 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

void CrossEntropyInPlaceBackward(BackwardContext& c) {
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * c.saved(0).bytes());
  c.Give(0, c.saved(0));
}

void CrossEntropyFusedBackward(BackwardContext& c) {
  Tensor gradient =
      c.tape().New(c.InputShape(0), c.InputDtype(0), Role::kLogits, "gradient of the logits");
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * gradient.bytes());
  c.Give(0, std::move(gradient));
}

// The gradient of the head's bias, one number a word.
void GiveBiasGradient(BackwardContext& c) {
  constexpr int kBias = 2;
  if (!c.Wants(kBias)) return;
  c.Give(kBias,
         c.tape().New(c.InputShape(kBias), c.InputDtype(kBias), Role::kActivations, c.label()));
}

// Everything was computed in forward; backward only scales.
void FusedLinearCrossEntropyBackward(BackwardContext& c) {
  GiveBiasGradient(c);
  for (const int i : {0, 1}) {
    if (c.Wants(i)) c.Give(i, c.saved(i));
  }
}

// Logits made tile by tile.
struct Tiling {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
  std::int64_t tile_tokens;
  std::int64_t tile_vocab;
  Dtype dtype;

  std::int64_t Tiles() const { return CeilDiv(tokens, tile_tokens) * CeilDiv(vocab, tile_vocab); }
};

// One product a tile; `shape` is one of the three of a linear layer.
void TiledGemm(Tape& tape, const char* label, const Tiling& tiling,
               std::array<std::int64_t, 3> shape, bool recomputed = false) {
  const auto [m, n, k] = shape;
  tape.Run(
      {.kernel = KernelClass::kGemm,
       .label = label,
       .flops = Flops(2.0 * static_cast<double>(tiling.tokens) * static_cast<double>(tiling.vocab) *
                      static_cast<double>(tiling.hidden)),
       .moved = tiling.Tiles() * Bytes((m * k + n * k + m * n) * spec::ElementBytes(tiling.dtype)),
       .shape = shape,
       .kernels = tiling.Tiles(),
       .dtype = tiling.dtype,
       .recomputed = recomputed});
}

// `passes` kernels over each tile in fp32, which read and write it.
void TiledElementwise(Tape& tape, const char* label, const Tiling& tiling, std::int64_t passes) {
  constexpr std::int64_t kReadAndWritten = 8;
  tape.Run({.kernel = KernelClass::kElementwise,
            .label = label,
            .moved = Bytes(passes * kReadAndWritten * tiling.tokens * tiling.vocab),
            .kernels = passes * tiling.Tiles()});
}

// A 4-bit head as a matrix, for the time of a product (bitsandbytes autograd/_functions.py).
void DequantizedHead(Tape& tape, Shape shape, Dtype compute, bool quantized) {
  if (!quantized) return;
  const Tensor matrix = tape.New(shape, compute, Role::kWeightCasts, "dequantized head");
  tape.Run(KernelClass::kDequantize, "dequantized head", Flops(), matrix.bytes());
}

// One piece at a time: nll_loss and log_softmax, the cast back, the head's two products, of which
// that of the weight is added to the sum of the pieces before.
void CrossEntropyByPiecesBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Shape hidden = c.InputShape(0);
  const Shape weight = c.InputShape(1);
  const std::int64_t pieces = c.number(0);
  const std::int64_t rows = CeilDiv(hidden.rows, pieces);
  const auto compute = static_cast<Dtype>(c.number(1));
  const Dtype wide = c.saved(0).dtype();
  GiveBiasGradient(c);
  Tensor grad_hidden;
  Tensor grad_weight;
  if (c.Wants(0)) grad_hidden = tape.New(hidden, c.InputDtype(0), Role::kActivations, c.label());
  if (c.Wants(1)) grad_weight = tape.New(weight, c.InputDtype(1), Role::kGradients, c.label());
  const Tiling tiling{hidden.rows, weight.rows, hidden.cols, rows, weight.rows, compute};
  DequantizedHead(tape, weight, compute, c.number(2) != 0);
  TiledElementwise(tape, c.label(), tiling, 2);
  if (c.Wants(1)) TiledGemm(tape, c.label(), tiling, {weight.rows, hidden.cols, rows});
  if (c.Wants(0)) TiledGemm(tape, c.label(), tiling, {rows, hidden.cols, weight.rows});
  {
    Tensor nll = tape.New({rows, weight.rows}, wide, Role::kLogits, "nll_loss gradient");
    Tensor gradient = tape.New({rows, weight.rows}, wide, Role::kLogits, "log_softmax gradient");
    nll.reset();
    gradient = Cast(tape, gradient, compute, c.label(), Role::kLogits);
    Tensor product;
    if (c.Wants(1) && pieces > 1) {
      product = tape.New(weight, c.InputDtype(1), Role::kTemporary, "head gradient of a piece");
    }
  }
  if (c.Wants(0)) c.Give(0, std::move(grad_hidden));
  if (c.Wants(1)) c.Give(1, std::move(grad_weight));
}

// A loop's variable still holds the last cast while the next one is made: two slices at once, and
// the last lives on until the function returns.
Tensor LastSlice(Tape& tape, std::int64_t rows, std::int64_t step, std::int64_t cols, Dtype dtype,
                 Role role, const char* label) {
  Tensor slice = tape.New({std::min(rows, step), cols}, dtype, role, label);
  if (rows > 2 * step) slice = tape.New({step, cols}, dtype, role, label);
  if (rows > step) slice = tape.New({(rows - 1) % step + 1, cols}, dtype, role, label);
  return slice;
}

// grad_hidden and grad_weight are fp32 zeros; one tile of logits and the slices of weight and
// hidden states in the compute dtype live beside them, also while both are cast to their tensors'
// dtypes at the end.
void ChunkedLogProbBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  const Shape hidden = c.InputShape(0);
  const Shape weight = c.InputShape(1);
  const std::int64_t tile_tokens = std::min(hidden.rows, c.number(0));
  const std::int64_t tile_vocab = c.number(1);
  const auto compute = static_cast<Dtype>(c.number(2));
  Tensor grad_hidden;
  Tensor grad_weight;
  if (c.Wants(0)) grad_hidden = tape.New(hidden, Dtype::kFp32, Role::kActivations, c.label());
  if (c.Wants(1)) grad_weight = tape.New(weight, Dtype::kFp32, Role::kGradients, c.label());
  const Tensor tile = tape.New({tile_tokens, tile_vocab}, compute, Role::kLogits, "tile of logits");
  Tensor chunk;
  if (c.InputDtype(0) != compute) {
    chunk = LastSlice(tape, hidden.rows, tile_tokens, hidden.cols, compute, Role::kTemporary,
                      "chunk of hidden states");
  }
  Tensor slice;
  if (c.InputDtype(1) != compute) {
    slice = LastSlice(tape, weight.rows, tile_vocab, weight.cols, compute, Role::kWeightCasts,
                      "slice of the head");
  }
  const std::int64_t cols = std::min(weight.rows, tile_vocab);
  const Tiling tiling{hidden.rows, weight.rows, hidden.cols, tile_tokens, cols, compute};
  TiledGemm(tape, c.label(), tiling, {tile_tokens, cols, hidden.cols}, true);
  // The gradient of the tile: probabilities less the targets, scaled.
  TiledElementwise(tape, c.label(), tiling, 6);
  if (c.Wants(0)) TiledGemm(tape, c.label(), tiling, {tile_tokens, hidden.cols, cols});
  if (c.Wants(1)) TiledGemm(tape, c.label(), tiling, {cols, hidden.cols, tile_tokens});
  GiveBiasGradient(c);
  if (c.Wants(0)) c.Give(0, Cast(tape, grad_hidden, c.InputDtype(0), c.label()));
  if (c.Wants(1)) c.Give(1, Cast(tape, grad_weight, c.InputDtype(1), c.label()));
}

}  // namespace

Tensor Embedding(Tape& tape, std::int64_t tokens, const Tensor& table, const char* label) {
  Tensor out = tape.New({tokens, table.cols()}, table.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kEmbedding, label, Flops(), 2 * out.bytes());
  tape.Record(label, EmbeddingBackward, {table}, out);
  return out;
}

Tensor CrossEntropy(Tape& tape, const Tensor& logits, const char* label) {
  // log_softmax and nll_loss are on autocast's fp32 list.
  const Tensor input = tape.autocast() != Dtype::kFp32
                           ? Cast(tape, logits, Dtype::kFp32, label, Role::kLogits)
                           : logits;
  const Tensor log_probabilities =
      tape.New({input.rows(), input.cols()}, input.dtype(), Role::kLogits, "log_softmax");
  tape.Run(KernelClass::kReduction, label, Flops(), 2 * input.bytes());
  Tensor loss = tape.New({1, 1}, input.dtype(), Role::kActivations, "loss");
  tape.Record(label, CrossEntropyBackward, {input}, loss, {log_probabilities});
  return loss;
}

Tensor CrossEntropyInPlace(Tape& tape, const Tensor& logits, const char* label) {
  Tensor loss = tape.New({logits.rows(), 1}, Dtype::kFp32, Role::kActivations, "loss");
  tape.Run(KernelClass::kReduction, label, Flops(), 2 * logits.bytes());
  tape.Record(label, CrossEntropyInPlaceBackward, {logits}, loss, {logits});
  return loss;
}

Tensor CrossEntropyFused(Tape& tape, const Tensor& logits, const char* label) {
  Tensor loss = tape.New({logits.rows(), 1}, Dtype::kFp32, Role::kActivations, "loss");
  const Tensor lse = tape.New({logits.rows(), 1}, Dtype::kFp32, Role::kActivations, "log-sum-exp");
  tape.Run(KernelClass::kReduction, label, Flops(), logits.bytes());
  tape.Record(label, CrossEntropyFusedBackward, {logits}, loss, {logits, lse});
  return loss;
}

Tensor CrossEntropyByPieces(Tape& tape, const Tensor& hidden, const Tensor& weight,
                            const Tensor& bias, const PiecesSettings& settings, const char* label) {
  const Dtype compute = tape.autocast() != Dtype::kFp32 ? tape.autocast() : hidden.dtype();
  const Dtype wide = settings.upcast || tape.autocast() != Dtype::kFp32 ? Dtype::kFp32 : compute;
  const std::int64_t rows = CeilDiv(hidden.rows(), settings.pieces);
  Tensor logits =
      tape.New({hidden.rows(), weight.rows()}, compute, Role::kLogits, "logits of all pieces");
  const Tiling tiling{hidden.rows(), weight.rows(), hidden.cols(), rows, weight.rows(), compute};
  DequantizedHead(tape, {weight.rows(), weight.cols()}, compute, settings.quantized);
  TiledGemm(tape, label, tiling, {rows, weight.rows(), hidden.cols()});
  TiledElementwise(tape, label, tiling, 1);
  Tensor saved = tape.New({hidden.rows(), weight.rows()}, wide, Role::kLogits, "log_softmax");
  if (wide != compute) {
    const Tensor piece =
        tape.New({rows, weight.rows()}, wide, Role::kLogits, "a piece's logits.float()");
  }
  Tensor loss = tape.New({1, 1}, Dtype::kFp32, Role::kActivations, "loss");
  tape.Record(label, CrossEntropyByPiecesBackward, {hidden, weight, bias}, loss,
              {saved, hidden, settings.hold ? logits : Tensor()},
              {settings.pieces, static_cast<std::int64_t>(compute), settings.quantized ? 1 : 0});
  return loss;
}

Tensor FusedLinearCrossEntropy(Tape& tape, const Tensor& hidden, const Tensor& weight,
                               const Tensor& bias, bool separate_products, const char* label) {
  const std::int64_t tokens = hidden.rows();
  const std::int64_t vocab = weight.rows();
  // chunk_size = next power of two of ceil(N / ceil(V / h)): a chunk's logits are as big as the
  // hidden states.
  const std::int64_t increase = CeilDiv(vocab, hidden.cols());
  const std::int64_t chunk = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(CeilDiv(tokens, increase))));
  const std::int64_t chunks = CeilDiv(tokens, chunk);
  const std::int64_t rows = std::min(chunk, tokens);
  const bool head_trains = tape.Wants(weight);
  const Tensor w = tape.autocast() != Dtype::kFp32 && weight.dtype() == Dtype::kFp32
                       ? Cast(tape, weight, tape.autocast(), label, Role::kWeightCasts)
                       : weight;
  Tensor grad_input = tape.New({tokens, hidden.cols()}, hidden.dtype(), Role::kActivations, label);
  Tensor grad_weight;
  if (head_trains) {
    grad_weight = tape.New({vocab, hidden.cols()}, weight.dtype(), Role::kGradients, label);
  }
  Tensor loss = tape.New({tokens, 1}, Dtype::kFp32, Role::kActivations, "loss");
  {
    const Tiling tiling{tokens, vocab, hidden.cols(), rows, vocab, w.dtype()};
    const Tensor logits = tape.New({rows, vocab}, w.dtype(), Role::kLogits, "chunk of logits");
    TiledGemm(tape, label, tiling, {rows, vocab, hidden.cols()});
    // liger_cross_entropy_kernel reads the logits twice and writes the gradient over them.
    tape.Run({.kernel = KernelClass::kReduction,
              .label = label,
              .moved = 3 * chunks * logits.bytes(),
              .kernels = chunks});
    TiledGemm(tape, label, tiling, {rows, hidden.cols(), vocab});
    if (head_trains) TiledGemm(tape, label, tiling, {vocab, hidden.cols(), rows});
    if (head_trains && separate_products) {
      const Tensor product =
          tape.New({vocab, hidden.cols()}, w.dtype(), Role::kTemporary, "head gradient of a chunk");
      const Tensor upcast =
          tape.New({vocab, hidden.cols()}, Dtype::kFp32, Role::kTemporary, "its fp32 copy");
    }
  }
  tape.Record(label, FusedLinearCrossEntropyBackward, {hidden, weight, bias}, loss,
              {grad_input, grad_weight});
  return loss;
}

Tensor ChunkedLogProb(Tape& tape, const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                      std::int64_t tile_tokens, std::int64_t tile_vocab, const char* label) {
  const std::int64_t tokens = hidden.rows();
  const Dtype compute = tape.autocast() != Dtype::kFp32 ? tape.autocast() : hidden.dtype();
  // Eight running statistics of one fp32 number a token; log_z and the targets stay.
  constexpr int kStatistics = 8;
  Tensor log_probabilities = tape.New({tokens, 1}, Dtype::kFp32, Role::kActivations, label);
  const Tensor log_z = tape.New({tokens, 1}, Dtype::kFp32, Role::kActivations, label);
  const Tensor targets = tape.New({tokens, 1}, Dtype::kInt64, Role::kActivations, label);
  const std::int64_t rows = std::min(tokens, tile_tokens);
  const std::int64_t cols = std::min(weight.rows(), tile_vocab);
  {
    const Tensor statistics =
        tape.New({tokens, kStatistics}, Dtype::kFp32, Role::kTemporary, label);
    // As wide as a tile may be, also where the vocabulary is smaller.
    const Tensor tile = tape.New({rows, tile_vocab}, compute, Role::kLogits, "tile of logits");
    Tensor chunk;
    if (hidden.dtype() != compute) {
      chunk = LastSlice(tape, tokens, tile_tokens, hidden.cols(), compute, Role::kTemporary,
                        "chunk of hidden states");
    }
    Tensor slice;
    if (weight.dtype() != compute) {
      slice = tape.New({cols, weight.cols()}, compute, Role::kWeightCasts, "slice of the head");
    }
    const Tiling tiling{tokens, weight.rows(), hidden.cols(), rows, cols, compute};
    TiledGemm(tape, label, tiling, {rows, cols, hidden.cols()});
    TiledElementwise(tape, label, tiling, 6);
  }
  tape.Record(label, ChunkedLogProbBackward, {hidden, weight, bias}, log_probabilities,
              {hidden, targets, log_z},
              {tile_tokens, tile_vocab, static_cast<std::int64_t>(compute)});
  return log_probabilities;
}

}  // namespace trainfit::program
