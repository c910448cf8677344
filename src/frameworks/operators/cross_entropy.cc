// Cross entropy on logits, fused with the head, and split over the vocabulary as Megatron does
// (benchmark_cross_entropy.py, benchmark_fused_linear_cross_entropy.py,
// benchmark_megatron_cross_entropy.py).
#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

using plan::Version;
using program::BackwardContext;
using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;
using spec::Dtype;

void HoldTargets(Bench& bench, std::int64_t tokens) {
  bench.Hold(Bytes(tokens * spec::ElementBytes(Dtype::kInt64)), "targets");
}

void BackwardOfLoss(Bench& bench, const Tensor& loss) {
  bench.Backward(loss, bench.tape().New({loss.rows(), loss.cols()}, loss.dtype(),
                                        Role::kActivations, "gradient of the loss"));
}

// The saved softmax is turned into the gradient in place, then cast to the logits' type.
// number 0: a second tensor of that size, where the in-place product was fused into a new one.
void VocabParallelBackward(BackwardContext& c) {
  Tape& tape = c.tape();
  Tensor product;
  if (c.number(0) != 0) {
    product = tape.New(c.InputShape(0), Dtype::kFp32, Role::kLogits, "gradient");
  }
  c.Give(0, tape.New(c.InputShape(0), c.InputDtype(0), Role::kLogits, "gradient of the logits"));
}

}  // namespace

void CrossEntropy(Bench& bench) {
  const Shape shape{
      bench.question().sizes.contains("BT") ? bench.Size("BT") : bench.Size("B") * bench.Size("T"),
      bench.Size("V", "vocab_size")};
  HoldTargets(bench, shape.rows);
  Tape& tape = bench.tape();
  if (bench.IsProvider("liger")) {  // the gradient lies where the logits were
    const Tensor x = bench.LeafWithoutGradient(shape, Dtype::kFp32, true, "logits");
    BackwardOfLoss(bench, program::CrossEntropyInPlace(tape, x, "cross entropy"));
    return;
  }
  const Tensor x = bench.Leaf(shape, Dtype::kFp32, true, "logits");
  BackwardOfLoss(bench, program::CrossEntropy(tape, x, "cross entropy"));
}

void FusedLinearCrossEntropy(Bench& bench) {
  const std::int64_t tokens = bench.Size("BT");
  const std::int64_t hidden = bench.Size("H", "hidden_size");
  const std::int64_t vocab = bench.Size("V", "vocab_size");
  const Dtype dtype = bench.question().dtype;
  HoldTargets(bench, tokens);
  const Tensor weight = bench.Leaf({vocab, hidden}, dtype, true, "head");
  // Scripts before 2026 make the modules of all providers at once.
  const Tensor other = bench.Leaf({vocab, hidden}, dtype, false, "head of the other provider");
  const Tensor x = bench.Leaf({tokens, hidden}, dtype, true, "hidden states");
  Tape& tape = bench.tape();
  if (bench.IsProvider("liger")) {
    BackwardOfLoss(bench, program::FusedLinearCrossEntropy(
                              tape, x, weight, {}, bench.question().liger < Version{0, 8, 3},
                              "fused linear cross entropy"));
    return;
  }
  const Tensor logits = program::Linear(tape, x, weight, {}, "logits", Role::kLogits);
  BackwardOfLoss(bench, program::CrossEntropy(tape, logits, "cross entropy"));
}

// Logits in bf16, the exponentials in fp32 (megatron/core/tensor_parallel/cross_entropy.py,
// liger_kernel/ops/vocab_parallel_cross_entropy.py); logits.grad is None at each start.
void MegatronCrossEntropy(Bench& bench) {
  const Shape shape{bench.Size("S") * bench.Size("B"), bench.Size("V") / bench.Size("TP")};
  HoldTargets(bench, shape.rows);
  const Tensor x = bench.LeafWithoutGradient(shape, Dtype::kBf16, false, "logits");
  Tape& tape = bench.tape();
  const Tensor softmax = tape.New(shape, Dtype::kFp32, Role::kLogits, "softmax");
  Tensor loss = tape.New({shape.rows, 1}, Dtype::kFp32, Role::kActivations, "loss");
  // fusions/fused_cross_entropy.py calculate_gradients is one TorchScript or compiled function:
  // what is written in place there becomes a tensor of its own.
  const bool is_fused = bench.IsProvider("megatron-fused");
  tape.Record("cross entropy", VocabParallelBackward, {x}, loss, {softmax}, {is_fused ? 1 : 0});
  BackwardOfLoss(bench, loss);
}

}  // namespace trainfit::frameworks::operators
