#include "frameworks/huggingface/ends.h"

#include "base/check.h"
#include "frameworks/huggingface/sharding.h"
#include "frameworks/huggingface/tensor_parallel.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Role;
using program::Slot;
using program::Tape;
using program::Tensor;
using spec::Dtype;
using spec::Part;

// trl/kernels/chunked_logprob.py TOKEN_CHUNK_SIZE; trl/trainer/utils.py _CHUNKED_LOGPROB_CHUNK_SIZE
constexpr std::int64_t kTrlTileTokens = 4096;
constexpr std::int64_t kTrlTileVocab = 32768;

Dtype AutocastDtype(const plan::Plan& plan) {
  return plan.autocast ? plan.compute_dtype : Dtype::kFp32;
}

std::int64_t RotaryWidth(const spec::Stack& stack) {
  std::int64_t width = 0;
  for (const spec::LayerKind& kind : stack.kinds) {
    width = std::max(width, kind.attention.rotary_dim);
  }
  return width;
}

// dtype of the residual stream: that of the embedding's weight.
Dtype StreamDtype(const Frame& before) {
  const std::int32_t embedding = before.Find(Part::kTokenEmbedding);
  return before.ComputeDtype(before.held(embedding).dtype);
}

Bytes RotaryBytes(const plan::Plan& plan, const Frame& before) {
  return Bytes(2 * plan.sequence_length * RotaryWidth(plan.model->Text()) *
               spec::ElementBytes(StreamDtype(before)));
}

void BatchSlots(Tape& tape, const plan::Plan& plan, bool allocate) {
  const Bytes ids(plan.TokensPerMicroBatch() * spec::ElementBytes(Dtype::kInt64));
  for (const SharedSlot slot : {kInputIds, kLabels}) {
    const Slot where{program::kSharedFrame, slot};
    if (allocate) {
      tape.AllocSlot(where, ids, Role::kActivations, "batch");
    } else {
      tape.FreeSlot(where, ids, Role::kActivations, "batch");
    }
  }
}

// [batch, 1, length, length]: booleans for SDPA, the compute dtype for eager attention.
void MaskSlot(Tape& tape, const plan::Plan& plan, bool allocate) {
  if (!NeedsMask(plan)) return;
  const Dtype dtype =
      plan.attention == spec::AttentionImplementation::kEager ? plan.compute_dtype : Dtype::kBool;
  const Bytes bytes(plan.TokensPerMicroBatch() * plan.sequence_length * spec::ElementBytes(dtype));
  const Slot where{program::kSharedFrame, kAttentionMask};
  if (allocate) {
    tape.AllocSlot(where, bytes, Role::kActivations, "attention mask");
  } else {
    tape.FreeSlot(where, bytes, Role::kActivations, "attention mask");
  }
}

void RotarySlot(Tape& tape, const plan::Plan& plan, const Frame& before, bool allocate) {
  const Bytes bytes = RotaryBytes(plan, before);
  if (bytes.value() == 0) return;
  const Slot where{program::kSharedFrame, kRotaryTable};
  if (allocate) {
    tape.AllocSlot(where, bytes, Role::kActivations, "rotary tables");
  } else {
    tape.FreeSlot(where, bytes, Role::kActivations, "rotary tables");
  }
}

// `head_was_first`: a tied head has made the table's gradient before the embedding's own arrives.
Tensor Embed(const Layer& layer, bool head_was_first) {
  const Frame& frame = layer.frame;
  Tape& tape = layer.tape;
  program::Leaf leaf = frame.WeightLeaf(frame.Find(Part::kTokenEmbedding));
  leaf.has_gradient = leaf.has_gradient || (head_was_first && leaf.trainable);
  const Tensor table = tape.Parameter(leaf);
  Tensor x = ScatterSequence(
      layer, program::Embedding(tape, layer.plan.TokensPerMicroBatch(), table, "embedding"));
  const std::int32_t positions = frame.Find(Part::kPositionEmbedding);
  if (positions >= 0) {
    const Tensor position_table = tape.Parameter(frame.WeightLeaf(positions));
    const Tensor p =
        program::Embedding(tape, layer.plan.sequence_length, position_table, "positions");
    x = program::Add(tape, x, p, "embedding sum");
  }
  if (frame.Find(Part::kEmbeddingNorm) >= 0) {
    x = ApplyNorm(layer, x, Part::kEmbeddingNorm, spec::NormKind::kLayerNorm);
  }
  if (layer.stack.dropout > 0) x = program::Dropout(tape, x, "embedding dropout");
  return x;
}

// Logits as the framework makes them, and the loss on them. Returns the loss; what the model's
// output still refers to dies at the end of this function, as in Trainer.compute_loss, unless the
// training loop holds it.
Tensor PlainLoss(const Layer& layer, const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                 Tensor& output) {
  Tape& tape = layer.tape;
  const plan::Plan& plan = layer.plan;
  Tensor logits = program::Linear(tape, hidden, weight, bias, "logits", Role::kLogits);
  // The kernel takes the place of nn.CrossEntropyLoss; what the model does to the logits before it
  // stays (fms_acceleration_foak FastForCausalLMLoss, liger_kernel LigerCrossEntropyLoss).
  const auto entropy = [&](const Tensor& x) {
    return plan.loss == spec::LossKernel::kTritonCrossEntropy
               ? program::CrossEntropyInPlace(tape, x, "cross entropy")
               : program::CrossEntropy(tape, x, "cross entropy");
  };
  const auto path = static_cast<plan::LossPath>(plan.facts.Value(plan::Fact::kLossPath));
  const auto upcast = [&](const Tensor& x) {
    return program::Cast(tape, x, Dtype::kFp32, "logits.float()", Role::kLogits);
  };
  if (path == plan::LossPath::kModelDtype) return entropy(logits);
  if (path == plan::LossPath::kFusedEntropy) {
    return program::CrossEntropyFused(tape, logits, "cross entropy");
  }
  if (path == plan::LossPath::kFloatInForwardShifted) logits = upcast(logits);
  Tensor loss;
  {
    const Tensor source = upcast(logits);
    Tensor scored = source;
    if (path != plan::LossPath::kPaddedLabels) {
      // logits[..., :-1, :].contiguous(): with one row the slice is contiguous already. Either way
      // the gradient is padded with zeros to the logits' size.
      scored = program::SliceRows(tape, source, source.rows() - plan.micro_batch,
                                  plan.micro_batch > 1, "shifted logits", Role::kLogits);
    }
    loss = entropy(scored);
  }
  const bool is_mixed = plan.autocast && plan.facts.Is(plan::Fact::kOutputsToFp32);
  if (is_mixed && logits.dtype() != Dtype::kFp32) {
    const Tensor copy =
        tape.New({logits.rows(), logits.cols()}, Dtype::kFp32, Role::kLogits, "outputs in fp32");
  }
  if (plan.facts.Is(plan::Fact::kOutputsHeld)) output = logits;
  return loss;
}

// `output`: what the caller of the model holds of the logits.
Tensor Loss(const Layer& layer, const Tensor& hidden, const Tensor& weight, const Tensor& bias,
            Tensor& output) {
  Tape& tape = layer.tape;
  switch (layer.plan.loss) {
    case spec::LossKernel::kFusedLinear:
      return program::FusedLinearCrossEntropy(
          tape, hidden, weight, bias, layer.plan.facts.Is(plan::Fact::kLigerSeparateProducts),
          "fused linear cross entropy");
    case spec::LossKernel::kChunked: {
      // hidden_states[:, :-1][mask]: a gathered copy; its gradient is scattered into zeros.
      const Tensor scored = program::CopyColumns(tape, hidden, hidden.cols(), "scored positions");
      return program::ChunkedLogProb(tape, scored, weight, bias, kTrlTileTokens, kTrlTileVocab,
                                     "chunked log-probabilities");
    }
    default:
      break;
  }
  if (layer.plan.loss == spec::LossKernel::kPlain && layer.plan.loss_pieces > 0) {
    const auto& facts = layer.plan.facts;
    const bool upcasts = facts.Value(plan::Fact::kLossPath) !=
                         static_cast<std::int64_t>(plan::LossPath::kModelDtype);
    const std::int32_t head = layer.frame.Find(Part::kHead);
    const program::PiecesSettings settings{
        .pieces = layer.plan.loss_pieces,
        .upcast = upcasts,
        .hold = facts.Is(plan::Fact::kOutputsHeld),
        .quantized = head >= 0 && layer.frame.held(head).quantized_4bit};
    return program::CrossEntropyByPieces(tape, hidden, weight, bias, settings,
                                         "cross entropy by pieces");
  }
  return PlainLoss(layer, hidden, weight, bias, output);
}

}  // namespace

Frame BeforeFrame(const plan::Plan& plan, bool has_gradients) {
  return {plan, plan.model->Text().before, program::kSharedFrame, kBeforeBase, has_gradients};
}

Frame AfterFrame(const plan::Plan& plan, bool has_gradients) {
  return {plan, plan.model->Text().after, program::kSharedFrame, kAfterBase, has_gradients};
}

bool InputWantsGradient(const plan::Plan& plan) {
  const Frame before = BeforeFrame(plan, false);
  for (std::int32_t i = 0; i < before.size(); ++i) {
    if (before.held(i).trainable || before.held(i).saved_copy) return true;
  }
  return plan.checkpointing != spec::Checkpointing::kNone;
}

EndSegments RecordEmbedding(const plan::Plan& plan, program::SegmentStore& store,
                            bool has_gradients) {
  const bool head_was_first = plan.model->tied_head && plan.method == spec::Method::kFull;
  const Frame frame = BeforeFrame(plan, has_gradients);
  Tape tape;
  const Layer layer{tape, plan, frame, plan.model->Text()};
  BatchSlots(tape, plan, true);
  MaskSlot(tape, plan, true);
  RotarySlot(tape, plan, frame, true);
  tape.set_autocast(AutocastDtype(plan));
  Tensor x = Embed(layer, head_was_first);
  const bool trains = x.requires_grad();
  const program::Shape shape{x.rows(), x.cols()};
  const Dtype dtype = x.dtype();
  const Tensor root = tape.Ghost(x);
  tape.Handover(std::move(x), {0, program::kCarrySlot}, Role::kActivations);
  tape.Cut();
  tape.DropCastCache();
  tape.Cut();
  if (InputWantsGradient(plan)) {
    Tensor gradient = tape.Given({0, program::kCarryGradientSlot}, shape, dtype, false,
                                 Role::kActivations, "gradient of the embedding");
    if (trains) tape.Backward(root, std::move(gradient), {});
  }
  RotarySlot(tape, plan, frame, false);
  MaskSlot(tape, plan, false);
  BatchSlots(tape, plan, false);
  tape.Cut();
  const auto leaves = tape.Finish(store);
  return {leaves[0], leaves[1], leaves[2], dtype};
}

EndSegments RecordHead(const plan::Plan& plan, program::SegmentStore& store, bool has_gradients,
                       std::optional<Dtype> input) {
  const spec::Stack& stack = plan.model->Text();
  const Frame frame = AfterFrame(plan, has_gradients);
  // The engine runs a tied table's accumulation, and its hooks, once both gradients are there.
  const bool waits = plan.model->tied_head && TakesGradients(plan);
  const Frame before = BeforeFrame(plan, has_gradients && !waits);
  Tape tape;
  const Layer layer{tape, plan, frame, stack};
  tape.set_autocast(AutocastDtype(plan));
  Tensor x = tape.Given({-1, program::kCarrySlot}, {StreamRows(plan), stack.hidden},
                        input.value_or(StreamDtype(before)), true, Role::kActivations,
                        "last hidden state");
  const Tensor wrt = tape.Ghost(x);
  Tensor loss;
  Tensor output;
  {
    const Tensor hidden =
        GatherSequence(layer, ApplyNorm(layer, x, Part::kFinalNorm, stack.final_norm));
    x.reset();
    const std::int32_t head = frame.Find(Part::kHead);
    const program::Leaf leaf =
        head >= 0 ? frame.WeightLeaf(head) : before.WeightLeaf(before.Find(Part::kTokenEmbedding));
    const std::int32_t head_bias = frame.Find(Part::kHead, true);
    const Tensor bias = head_bias >= 0 ? tape.Parameter(frame.WeightLeaf(head_bias)) : Tensor();
    const bool is_quantized = head >= 0 && frame.held(head).quantized_4bit;
    const Tensor weight =
        is_quantized ? tape.Borrowed(leaf.shape, plan.compute_dtype) : tape.Parameter(leaf);
    loss = Loss(layer, hidden, weight, bias, output);
  }
  tape.Cut();
  tape.DropCastCache();
  tape.Cut();
  tape.set_autocast(Dtype::kFp32);
  Tensor seed = tape.New({loss.rows(), loss.cols()}, loss.dtype(), Role::kActivations, "loss");
  Tensor gradient = tape.Backward(loss, std::move(seed), wrt);
  loss.reset();
  output.reset();
  CHECK(gradient.defined()) << "no gradient reached the last hidden state";
  tape.Handover(std::move(gradient), {-1, program::kCarryGradientSlot}, Role::kActivations);
  tape.Cut();
  const auto leaves = tape.Finish(store);
  return {leaves[0], leaves[1], leaves[2], StreamDtype(before)};
}

}  // namespace trainfit::frameworks::huggingface
