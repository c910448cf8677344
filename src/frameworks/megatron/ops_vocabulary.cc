#include "frameworks/megatron/ops.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::BackwardContext;
using program::Collective;
using program::KernelClass;
using program::Role;
using program::Stream;
using spec::Dtype;

// A dense gradient of this rank's rows, plus the sorted indices of the kernel.
void EmbeddingBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  Tensor table = tape.New(c.InputShape(0), c.InputDtype(0), Role::kGradients, c.label());
  const Tensor sorted =
      tape.New({c.gradient().rows(), 2}, Dtype::kInt64, Role::kTemporary, c.label());
  tape.Run(KernelClass::kEmbedding, c.label(), Flops(), table.bytes() + c.gradient().bytes());
  c.Give(0, std::move(table));
}

// The gradient is made in place in the fp32 softmax; the engine casts it to the logits' dtype
// (torch/csrc/autograd/engine.cpp, validate_outputs).
void CrossEntropyBackward(BackwardContext& c) {
  if (!c.Wants(0)) return;
  Tape& tape = c.tape();
  tape.Run(KernelClass::kElementwise, c.label(), Flops(), 2 * c.saved(0).bytes());
  c.Give(0, Cast(tape, c.saved(0), c.InputDtype(0), c.label(), Role::kLogits));
}

void FusedCrossEntropyBackward(BackwardContext& c) {
  c.tape().Run(KernelClass::kElementwise, c.label(), Flops(), 2 * c.saved(0).bytes());
  if (c.Wants(0)) c.Give(0, c.saved(0));
}

void SmallAllReduce(Tape& tape, std::int64_t tokens, const Split& split, const char* label) {
  if (split.ranks == 1) return;
  tape.Exchange(Collective::kAllReduce, split.group, label, Bytes(4 * tokens), Stream::kCompute);
}

}  // namespace

Tensor VocabularyEmbedding(Tape& tape, std::int64_t tokens, const Tensor& table, const Split& split,
                           const char* label) {
  Tensor out = tape.New({tokens, table.cols()}, table.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kEmbedding, label, Flops(), 2 * out.bytes());
  if (split.ranks > 1) {
    tape.Exchange(Collective::kAllReduce, split.group, label, out.bytes(), Stream::kCompute);
  }
  const Tensor ids = tape.New({tokens, 1}, Dtype::kInt64, Role::kActivations, "token ids");
  tape.Record(label, EmbeddingBackward, {table}, out, {ids});
  return out;
}

Tensor VocabularyCrossEntropy(Tape& tape, const Tensor& logits, const Split& split,
                              const char* label) {
  const std::int64_t tokens = logits.rows();
  const Tensor softmax =
      tape.New({tokens, logits.cols()}, Dtype::kFp32, Role::kLogits, "logits.float()");
  SmallAllReduce(tape, tokens, split, label);  // maximum
  tape.Run(KernelClass::kReduction, label, Flops(), 6 * softmax.bytes());
  const Tensor mask = tape.New({tokens, 1}, Dtype::kBool, Role::kActivations, "target mask");
  const Tensor targets = tape.New({tokens, 1}, Dtype::kInt64, Role::kActivations, "targets");
  SmallAllReduce(tape, tokens, split, label);  // predicted logits
  SmallAllReduce(tape, tokens, split, label);  // sum of exponentials
  Tensor loss = tape.New({tokens, 1}, Dtype::kFp32, Role::kActivations, "loss");
  tape.Record(label, CrossEntropyBackward, {logits}, loss, {softmax, mask, targets});
  return loss;
}

Tensor CompiledCrossEntropy(Tape& tape, const Tensor& logits, const Split& split,
                            const char* label) {
  const std::int64_t tokens = logits.rows();
  const program::Shape shape{tokens, logits.cols()};
  Tensor upcast = tape.New(shape, Dtype::kFp32, Role::kLogits, "logits.float()");
  SmallAllReduce(tape, tokens, split, label);  // maximum
  const Tensor softmax = tape.New(shape, Dtype::kFp32, Role::kLogits, "exponentials");
  tape.Run(KernelClass::kReduction, label, Flops(), 4 * softmax.bytes());
  const Tensor mask = tape.New({tokens, 1}, Dtype::kBool, Role::kActivations, "target mask");
  const Tensor targets = tape.New({tokens, 1}, Dtype::kInt64, Role::kActivations, "targets");
  SmallAllReduce(tape, 2 * tokens, split, label);  // predicted logits and sums together
  upcast.reset();
  Tensor loss = tape.New({tokens, 1}, Dtype::kFp32, Role::kActivations, "loss");
  tape.Record(label, CrossEntropyBackward, {logits}, loss, {softmax, mask, targets});
  return loss;
}

Tensor FusedCrossEntropy(Tape& tape, const Tensor& logits, const Split& split, const char* label) {
  Tensor loss = tape.New({logits.rows(), 1}, Dtype::kFp32, Role::kActivations, "loss");
  SmallAllReduce(tape, 3 * logits.rows(), split, label);  // maximum, sum and own logit gathered
  tape.Run(KernelClass::kReduction, label, Flops(), 2 * logits.bytes());
  tape.Record(label, FusedCrossEntropyBackward, {logits}, loss, {logits});
  return loss;
}

}  // namespace trainfit::frameworks::megatron
