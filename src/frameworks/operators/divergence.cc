// Divergences between a student's and a teacher's distribution: on logits (benchmark_kl_div.py,
// benchmark_jsd.py, benchmark_tvd.py), with the heads fused in (benchmark_fused_linear_jsd.py), and
// as a distillation loss beside cross entropy (benchmark_distill_jsd_loss.py).
#include <algorithm>
#include <bit>

#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

using program::BackwardContext;
using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;
using spec::Dtype;

void BackwardOfLoss(Bench& bench, const Tensor& loss) {
  bench.Backward(loss, bench.tape().New({loss.rows(), loss.cols()}, loss.dtype(),
                                        Role::kActivations, "gradient of the loss"));
}

// F.kl_div(log_target=True): exp(target) · (target − input), both factors saved by the product
// (aten/src/ATen/native/Loss.cpp).
Tensor KlDivergence(Tape& tape, const Tensor& input, const Tensor& target) {
  const Tensor probability = program::Squash(tape, target, "exp(target)");
  return program::Multiply(tape, probability, program::Add(tape, target, input, "target - input"),
                           "kl_div");
}

// 0.5 KL(m ‖ p) + 0.5 KL(m ‖ q) with m the mean of both, in fp32 (TorchJSD of the script).
Tensor JensenShannon(Tape& tape, const Tensor& log_q, const Tensor& log_p) {
  const Tensor q = program::Cast(tape, log_q, Dtype::kFp32, "log q");
  const Tensor p = program::Cast(tape, log_p, Dtype::kFp32, "log p");
  Tensor mean;
  {
    const Tensor exp_q = program::Squash(tape, q, "exp q");
    const Tensor exp_p = program::Squash(tape, p, "exp p");
    mean = program::Add(tape, exp_q, exp_p, "lerp");
  }
  const auto half = [&](const Tensor& target) {
    const Tensor log_mean = program::Activate(tape, mean, "log mean");
    const Tensor kl = KlDivergence(tape, log_mean, target);
    return program::Scale(tape, program::SumColumns(tape, kl, "sum"), "beta");
  };
  const Tensor first = half(p);
  return program::Add(tape, first, half(q), "jsd");
}

Tensor LogSoftmax(Tape& tape, const Tensor& logits) {
  return program::Softmax(tape, logits, "log_softmax");
}

void FusedLossBackward(BackwardContext& c) {
  for (const int i : {0, 1}) {
    if (c.Wants(i)) c.Give(i, c.saved(i));
  }
}

}  // namespace

// Inputs are log-probabilities or logits of N × V in fp32; Liger's kernels keep the gradient alone.
void Divergence(Bench& bench) {
  const Shape shape{
      bench.question().sizes.contains("BT") ? bench.Size("BT") : bench.Size("B") * bench.Size("T"),
      bench.Size("V", "vocab_size")};
  Tape& tape = bench.tape();
  const Tensor x = bench.Leaf(shape, Dtype::kFp32, true, "input");
  const Tensor target = bench.Leaf(shape, Dtype::kFp32, false, "target");
  tape.set_retain_graph(true);
  const Tensor log_x = LogSoftmax(tape, x);
  if (bench.IsProvider("liger")) {
    Tensor loss = tape.New(shape, Dtype::kFp32, Role::kActivations, "loss by element");
    const Tensor gradient = tape.New(shape, Dtype::kFp32, Role::kActivations, "gradient");
    tape.Record("divergence", FusedLossBackward, {log_x}, loss, {gradient});
    BackwardOfLoss(bench, loss);
    return;
  }
  if (bench.question().name == "jsd") {
    return BackwardOfLoss(bench, JensenShannon(tape, log_x, target));
  }
  BackwardOfLoss(bench, program::SumColumns(tape, KlDivergence(tape, log_x, target), "sum"));
}

// liger_kernel/ops/fused_linear_jsd.py: chunks as in the fused cross entropy; gradients of the
// student's input and head are made in forward.
void FusedLinearJsd(Bench& bench) {
  const std::int64_t tokens = bench.Size("BT");
  const std::int64_t hidden = bench.Size("H", "hidden_size");
  const std::int64_t vocab = bench.Size("V", "vocab_size");
  const Dtype dtype = bench.question().dtype;
  Tape& tape = bench.tape();
  const bool is_liger = bench.IsProvider("liger");
  const Tensor student = bench.Leaf({vocab, hidden}, dtype, true, "student head");
  // The teacher's head is an nn.Linear that nobody froze; Liger's function gives it no gradient.
  const Tensor teacher = bench.Leaf({vocab, hidden}, dtype, !is_liger, "teacher head");
  const Tensor x = bench.Leaf({tokens, hidden}, dtype, true, "student input");
  const Tensor teacher_x = bench.Leaf({tokens, hidden}, dtype, false, "teacher input");
  if (!is_liger) {
    // Each logits tensor is divided by the temperature; the quotient dies after log_softmax.
    const auto log_probabilities = [&](const Tensor& input, const Tensor& head) {
      const Tensor logits = program::Linear(tape, input, head, {}, "logits", Role::kLogits);
      return std::pair{logits, LogSoftmax(tape, program::Scale(tape, logits, "temperature"))};
    };
    Tensor loss;
    {
      const auto [student_logits, log_q] = log_probabilities(x, student);
      const auto [teacher_logits, log_p] = log_probabilities(teacher_x, teacher);
      loss = JensenShannon(tape, log_q, log_p);
    }
    return BackwardOfLoss(bench, loss);
  }
  const std::int64_t increase = CeilDiv(vocab, hidden);
  const auto chunk = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(CeilDiv(tokens, increase))));
  const Shape part{std::min(chunk, tokens), vocab};
  const Tensor grad_weight =
      tape.New({vocab, hidden}, dtype, Role::kGradients, "gradient of the head");
  const Tensor grad_x =
      tape.New({tokens, hidden}, dtype, Role::kGradients, "gradient of the input");
  // loss_1d is as wide as the logits: one fp32 number an element.
  Tensor loss = tape.New({tokens, vocab}, Dtype::kFp32, Role::kActivations, "loss by element");
  {
    // student and teacher logits, upcast, and their log-softmax; then the chunk's head gradient.
    const Tensor student_logits = tape.New(part, Dtype::kFp32, Role::kLogits, "student chunk");
    const Tensor teacher_logits = tape.New(part, Dtype::kFp32, Role::kLogits, "teacher chunk");
    const Tensor student_p = tape.New(part, Dtype::kFp32, Role::kLogits, "student log-softmax");
    const Tensor teacher_p = tape.New(part, Dtype::kFp32, Role::kLogits, "teacher log-softmax");
  }
  tape.Record("fused linear jsd", FusedLossBackward, {x, student}, loss, {grad_x, grad_weight});
  loss = program::SumColumns(tape, loss, "sum");
  BackwardOfLoss(bench, loss);
}

// Half of it cross entropy with the targets, half the Jensen-Shannon divergence from the teacher,
// whose hidden states are twice as wide (test/chunked_loss/test_jsd_loss.py).
void DistillationJsd(Bench& bench) {
  const std::int64_t tokens = bench.Size("BT");
  const std::int64_t hidden = bench.Size("H", "hidden_size");
  const std::int64_t vocab = bench.Size("V", "vocab_size");
  const Dtype dtype = bench.question().dtype;
  Tape& tape = bench.tape();
  // The modules of both providers exist; one is trained.
  const Tensor student = bench.Leaf({vocab, hidden / 2}, dtype, true, "student head");
  const Tensor teacher = bench.Leaf({vocab, hidden}, dtype, false, "teacher head");
  bench.Hold(student.bytes() + teacher.bytes(), "heads of the other provider");
  const Tensor x = bench.Leaf({tokens, hidden / 2}, dtype, true, "student input");
  const Tensor teacher_x = bench.Leaf({tokens, hidden}, dtype, false, "teacher input");
  bench.Hold(x.bytes() + Bytes(8 * tokens), "input of the other provider, targets");
  const auto logits_of = [&](const Tensor& input, const Tensor& head) {
    return program::Cast(tape, program::Linear(tape, input, head, {}, "logits", Role::kLogits),
                         Dtype::kFp32, "logits.float()", Role::kLogits);
  };
  if (!bench.IsProvider("liger")) {
    Tensor loss;
    {
      const Tensor student_logits = logits_of(x, student);
      const Tensor teacher_logits = logits_of(teacher_x, teacher);
      const Tensor hard = program::CrossEntropy(tape, student_logits, "cross entropy");
      const Tensor log_q = LogSoftmax(tape, student_logits);
      const Tensor log_p = LogSoftmax(tape, teacher_logits);
      Tensor log_mean;
      {
        // logsumexp(stack([log_q + log(1 - beta), log_p + log(beta)])): saves the stack.
        const Tensor stacked =
            program::Concatenate(tape, program::Scale(tape, log_q, "+ log beta"),
                                 program::Scale(tape, log_p, "+ log beta"), "stack");
        const auto halves = program::SplitColumns(tape, program::Activate(tape, stacked, "exp"),
                                                  {vocab, vocab, 0}, "logsumexp");
        log_mean = program::Add(tape, halves[0], halves[1], "logsumexp");
      }
      const Tensor student_kl =
          program::SumColumns(tape, KlDivergence(tape, log_mean, log_q), "batchmean");
      const Tensor teacher_kl =
          program::SumColumns(tape, KlDivergence(tape, log_mean, log_p), "batchmean");
      loss = program::Add(tape, student_kl, teacher_kl, "jsd");
      tape.Seed(hard, tape.New({1, 1}, Dtype::kFp32, Role::kActivations, "gradient of the loss"));
    }
    return BackwardOfLoss(bench, loss);
  }
  // Chunks of 1024 tokens (chunked_loss/fused_linear_distillation.py), each with its gradients.
  constexpr std::int64_t kChunk = 1024;
  const std::int64_t rows = std::min(kChunk, tokens);
  const Tensor grad_weight =
      tape.New({vocab, hidden / 2}, dtype, Role::kGradients, "gradient of the head");
  const Tensor grad_x =
      tape.New({tokens, hidden / 2}, dtype, Role::kGradients, "gradients of the chunks");
  Tensor loss = tape.New({1, 1}, Dtype::kFp32, Role::kActivations, "loss");
  {
    const Shape part{rows, vocab};
    const Tensor student_logits = tape.New(part, dtype, Role::kLogits, "student chunk");
    const Tensor teacher_logits = tape.New(part, dtype, Role::kLogits, "teacher chunk");
    const Tensor log_q = tape.New(part, Dtype::kFp32, Role::kLogits, "student log-softmax");
    const Tensor gradient = tape.New(part, Dtype::kFp32, Role::kLogits, "gradient of the chunk");
    const Tensor chunk_weight =
        tape.New({vocab, hidden / 2}, dtype, Role::kTemporary, "head gradient of the chunk");
  }
  tape.Record("distillation", FusedLossBackward, {x, student}, loss, {grad_x, grad_weight});
  BackwardOfLoss(bench, loss);
}

}  // namespace trainfit::frameworks::operators
