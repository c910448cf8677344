#include "frameworks/megatron/ends.h"

#include <utility>

#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Role;
using spec::Part;

// megatron/core/models/common/embeddings/language_model_embedding.py forward: words, positions,
// sequence first, own rows under sequence parallelism, dropout.
Tensor Embed(const Module& module) {
  Tape& tape = module.tape;
  const plan::Plan& plan = module.plan;
  const Split split = module.TensorSplit();
  Tensor x = VocabularyEmbedding(tape, TokensInside(plan), module.Weight(Part::kTokenEmbedding),
                                 split, "embedding");
  const Tensor table = module.Weight(Part::kPositionEmbedding);
  if (table.defined()) {
    const Tensor positions = program::Embedding(tape, TokensInside(plan), table, "positions");
    x = program::Add(tape, x, positions, "embedding sum");
  }
  if (plan.micro_batch > 1) {  // transpose(0, 1).contiguous()
    x = program::CopyColumns(tape, x, x.cols(), "sequence first");
  }
  if (module.Weight(Part::kEmbeddingNorm).defined()) {
    x = ApplyNorm(module, x, Part::kEmbeddingNorm, spec::NormKind::kLayerNorm);
  }
  if (split.sequence) x = ScatterRows(tape, x, split, "own part of the sequence");
  if (plan.hidden_dropout > 0) x = program::Dropout(tape, x, "embedding dropout");
  return x;
}

Tensor Loss(const Module& module, const Tensor& logits) {
  const Split split = module.TensorSplit();
  if (module.plan.loss == spec::LossKernel::kCompiled) {
    return CompiledCrossEntropy(module.tape, logits, split, "cross entropy");
  }
  if (module.plan.loss == spec::LossKernel::kTritonCrossEntropy) {
    return FusedCrossEntropy(module.tape, logits, split, "cross entropy");
  }
  return VocabularyCrossEntropy(module.tape, logits, split, "cross entropy");
}

}  // namespace

Piece RecordEmbedding(const plan::Plan& plan, program::SegmentStore& store) {
  Tape tape;
  const Parameters parameters = EmbeddingParameters(plan);
  const Module module{tape, plan, parameters};
  Tensor x = Embed(module);
  const program::Shape shape{x.rows(), x.cols()};
  const Tensor root = tape.Ghost(x);
  tape.Handover(std::move(x), {0, program::kCarrySlot}, Role::kActivations);
  tape.Cut();
  tape.Backward(root,
                tape.Given({0, program::kCarryGradientSlot}, shape, plan.compute_dtype, false,
                           Role::kActivations, "gradient of the embedding"),
                {});
  tape.Cut();
  const auto leaves = tape.Finish(store);
  return {leaves[0], leaves[1]};
}

Piece RecordHead(const plan::Plan& plan, program::SegmentStore& store) {
  const spec::Stack& stack = plan.model->Text();
  Tape tape;
  Parameters parameters = HeadParameters(plan);
  if (Find(parameters, Part::kHead) == nullptr) {  // tied on one rank: the word table itself
    parameters.push_back({Part::kHead, false, {VocabularyRows(plan), stack.hidden}, false});
  }
  const Module module{tape, plan, parameters};
  Tensor x = tape.Given({-1, program::kCarrySlot}, {TokensOutside(plan), stack.hidden},
                        plan.compute_dtype, true, Role::kActivations, "last hidden state");
  const Tensor wrt = tape.Ghost(x);
  Tensor loss;
  {
    const Tensor hidden = ApplyNorm(module, x, Part::kFinalNorm, stack.final_norm);
    x.reset();
    const Tensor logits = ColumnLinear(tape, hidden, module.Weight(Part::kHead), {},
                                       module.VocabularySplit(), "logits", Role::kLogits);
    loss = Loss(module, logits);
  }
  tape.Cut();
  Tensor seed = tape.New({loss.rows(), 1}, loss.dtype(), Role::kActivations, "loss");
  Tensor gradient = tape.Backward(loss, std::move(seed), wrt);
  loss.reset();
  tape.Handover(std::move(gradient), {-1, program::kCarryGradientSlot}, Role::kActivations);
  tape.Cut();
  const auto leaves = tape.Finish(store);
  return {leaves[0], leaves[1]};
}

}  // namespace trainfit::frameworks::megatron
