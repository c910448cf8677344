#include "frameworks/huggingface/tensor_parallel.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::BackwardContext;
using program::Collective;
using program::KernelClass;
using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;
using spec::Part;

bool IsCutByRows(Part part) {
  switch (part) {
    case Part::kQuery:
    case Part::kKey:
    case Part::kValue:
    case Part::kGate:
    case Part::kUp:
    case Part::kTokenEmbedding:
    case Part::kHead:
      return true;
    default:
      return false;
  }
}

// RowwiseParallel's bias stays whole.
bool IsCutByColumns(const spec::TensorSpec& tensor) {
  return !tensor.is_bias && (tensor.part == Part::kOutput || tensor.part == Part::kDown);
}

void Cut(spec::TensorSpec& tensor, std::int64_t ranks) {
  if (IsCutByRows(tensor.part)) tensor.shape.front() = CeilDiv(tensor.shape.front(), ranks);
  if (IsCutByColumns(tensor)) tensor.shape.back() = CeilDiv(tensor.shape.back(), ranks);
}

Tensor Gather(Tape& tape, const Tensor& x, Shape full, const char* label) {
  const Tensor parts = tape.New(full, x.dtype(), Role::kCommunication, "gathered parts");
  tape.Exchange(Collective::kAllGather, program::Group::kTensor, label, parts.bytes(),
                program::Stream::kCompute);
  Tensor out = tape.New(full, x.dtype(), Role::kActivations, label);
  tape.Run(KernelClass::kCopy, label, Flops(), 2 * out.bytes());
  return out;
}

Tensor Scatter(Tape& tape, const Tensor& x, Shape own, const char* label) {
  const Tensor parts = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kCommunication, "parts");
  tape.Run(KernelClass::kCopy, label, Flops(), 2 * parts.bytes());
  Tensor out = tape.New(own, x.dtype(), Role::kActivations, label);
  tape.Exchange(Collective::kReduceScatter, program::Group::kTensor, label, parts.bytes(),
                program::Stream::kCompute);
  return out;
}

void GatherBackward(BackwardContext& c) {
  if (c.Wants(0)) c.Give(0, Scatter(c.tape(), c.gradient(), c.InputShape(0), c.label()));
}

void ScatterBackward(BackwardContext& c) {
  if (c.Wants(0)) c.Give(0, Gather(c.tape(), c.gradient(), c.InputShape(0), c.label()));
}

}  // namespace

std::shared_ptr<const spec::ModelSpec> TensorShare(const spec::ModelSpec& model,
                                                   std::int64_t ranks) {
  auto share = std::make_shared<spec::ModelSpec>(model);
  share->vocab = CeilDiv(model.vocab, ranks);
  for (spec::Stack& stack : share->stacks) {
    for (spec::TensorSpec& tensor : stack.before) Cut(tensor, ranks);
    for (spec::TensorSpec& tensor : stack.after) Cut(tensor, ranks);
    for (spec::LayerKind& kind : stack.kinds) {
      kind.attention.heads /= ranks;
      kind.attention.kv_heads /= ranks;
      kind.mlp.intermediate /= ranks;
      for (spec::TensorSpec& tensor : kind.tensors) Cut(tensor, ranks);
    }
  }
  return share;
}

// The parameters die as the collective's wait returns.
// NOLINTBEGIN(performance-unnecessary-value-param)
Tensor GatherSequence(const Layer& layer, Tensor x) {
  const std::int64_t ranks = layer.plan.parallel.tensor;
  if (ranks == 1) return x;
  constexpr const char* kLabel = "sequence gathered";
  Tensor out = Gather(layer.tape, x, {x.rows() * ranks, x.cols()}, kLabel);
  layer.tape.Record(kLabel, GatherBackward, {x}, out);
  return out;
}

Tensor ScatterSequence(const Layer& layer, Tensor x) {
  const std::int64_t ranks = layer.plan.parallel.tensor;
  if (ranks == 1) return x;
  constexpr const char* kLabel = "sums scattered";
  Tensor out = layer.tape.TakeKept(KernelClass::kCollective);
  if (!out.defined()) {
    out = Scatter(layer.tape, x, {x.rows() / ranks, x.cols()}, kLabel);
    layer.tape.Keep(KernelClass::kCollective, out);
  }
  layer.tape.Record(kLabel, ScatterBackward, {x}, out);
  return out;
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace trainfit::frameworks::huggingface
