// Losses on pairs or groups of answers with the head fused in: ORPO, CPO, SimPO
// (benchmark_orpo_loss.py, …) and GRPO (benchmark_grpo_loss.py). The providers "huggingface" and
// "torch" are the references of test/chunked_loss: all logits at once, in fp32.
#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

using program::BackwardContext;
using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;
using spec::Dtype;

struct Sizes {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
};

Sizes ReadSizes(Bench& bench) {
  Sizes sizes;
  sizes.samples = bench.Size("B");
  sizes.tokens = sizes.samples * bench.Size("T");
  sizes.hidden = bench.Size("H", "hidden_size");
  sizes.vocab = bench.Size("V", "vocab_size");
  return sizes;
}

void BackwardOfLoss(Bench& bench, const Tensor& loss) {
  bench.Backward(loss, bench.tape().New({loss.rows(), loss.cols()}, loss.dtype(),
                                        Role::kActivations, "gradient of the loss"));
}

void FusedLossBackward(BackwardContext& c) {
  for (const int i : {0, 1}) {
    if (c.Wants(i)) c.Give(i, c.saved(i));
  }
}

// One answer or one pair after the other: a compiled function makes loss and gradients of a chunk,
// the head's gradient is then added to the accumulator (chunked_loss/fused_linear_preference.py,
// fused_linear_ppo.py). At the product for the head's gradient there are the logits' gradient and
// the recomputed logits beside it.
Tensor Chunked(Bench& bench, const Sizes& sizes, std::int64_t chunk_samples, const Tensor& x,
               const Tensor& weight) {
  Tape& tape = bench.tape();
  const Dtype dtype = bench.question().dtype;
  const Shape head{sizes.vocab, sizes.hidden};
  const Tensor grad_weight = tape.New(head, dtype, Role::kGradients, "gradient of the head");
  const Tensor grad_x =
      tape.New({sizes.tokens, sizes.hidden}, dtype, Role::kGradients, "gradients of the chunks");
  Tensor loss = tape.New({1, 1}, Dtype::kFp32, Role::kActivations, "loss");
  {
    const std::int64_t rows = sizes.tokens / sizes.samples * chunk_samples;
    const Tensor gradient =
        tape.New({rows, sizes.vocab}, dtype, Role::kLogits, "gradient of the logits");
    const Tensor chunk_weight = tape.New(head, dtype, Role::kTemporary, "head gradient of a chunk");
  }
  tape.Record("chunked loss", FusedLossBackward, {x, weight}, loss, {grad_x, grad_weight});
  return loss;
}

}  // namespace

// Chosen and rejected answers stacked; negative log-likelihood of the chosen half beside the
// preference term (HFAlignmentLoss.concatenated_forward, get_batch_logps).
void PreferenceLoss(Bench& bench) {
  const Sizes sizes = ReadSizes(bench);
  const Dtype dtype = bench.question().dtype;
  Tape& tape = bench.tape();
  const Tensor weight = bench.Leaf({sizes.vocab, sizes.hidden}, dtype, true, "head");
  bench.Hold(weight.bytes(), "head of the other provider");
  const Tensor x = bench.Leaf({sizes.tokens, sizes.hidden}, dtype, true, "hidden states");
  bench.Hold(Bytes(8 * sizes.tokens), "targets");
  if (bench.IsProvider("liger")) {
    constexpr std::int64_t kPair = 2;
    return BackwardOfLoss(bench, Chunked(bench, sizes, kPair, x, weight));
  }
  Tensor nll;
  Tensor preference;
  {
    const Tensor outputs = program::Linear(tape, x, weight, {}, "logits", Role::kLogits);
    const Tensor logits =
        program::Cast(tape, outputs, Dtype::kFp32, "logits.float()", Role::kLogits);
    nll = program::CrossEntropy(
        tape, program::SliceRows(tape, logits, sizes.tokens / 2, false, "chosen"), "nll");
    const Tensor chosen =
        program::GatherColumn(tape, program::Softmax(tape, logits, "log_softmax"), "log p");
    preference = program::SumColumns(tape, tape.View(chosen, {1, sizes.tokens}), "preference");
  }
  tape.Seed(nll, tape.New({1, 1}, Dtype::kFp32, Role::kActivations, "gradient of the loss"));
  BackwardOfLoss(bench, preference);
}

// Policy and reference, one answer a chunk in Liger; the reference runs without a graph.
void GrpoLoss(Bench& bench) {
  const Sizes sizes = ReadSizes(bench);
  const Dtype dtype = bench.question().dtype;
  Tape& tape = bench.tape();
  const Tensor weight = bench.Leaf({sizes.vocab, sizes.hidden}, dtype, true, "head");
  const Tensor reference = bench.Leaf({sizes.vocab, sizes.hidden}, dtype, false, "reference head");
  bench.Hold(2 * weight.bytes(), "heads of the other provider");
  const Tensor x = bench.Leaf({sizes.tokens, sizes.hidden}, dtype, true, "hidden states");
  const Tensor reference_x =
      bench.Leaf({sizes.tokens, sizes.hidden}, dtype, false, "reference hidden states");
  bench.Hold(Bytes(12 * sizes.tokens), "token ids, mask");
  if (bench.IsProvider("liger")) {
    return BackwardOfLoss(bench, Chunked(bench, sizes, 1, x, weight));
  }
  // Variables of the forward function live until it returns.
  Tensor loss;
  {
    const Tensor logits = program::Linear(tape, x, weight, {}, "logits", Role::kLogits);
    const Tensor log_p = program::Softmax(
        tape, program::Cast(tape, logits, Dtype::kFp32, "logits.float()", Role::kLogits),
        "log_softmax");
    const Tensor chosen = program::GatherColumn(tape, log_p, "log p");
    tape.set_grad_enabled(false);
    const Tensor reference_logits =
        program::Linear(tape, reference_x, reference, {}, "reference logits", Role::kLogits);
    const Tensor reference_p = program::Softmax(
        tape, program::Cast(tape, reference_logits, Dtype::kFp32, "logits.float()", Role::kLogits),
        "log_softmax");
    tape.set_grad_enabled(true);
    loss = program::SumColumns(tape, tape.View(chosen, {1, sizes.tokens}), "loss");
  }
  BackwardOfLoss(bench, loss);
}

}  // namespace trainfit::frameworks::operators
