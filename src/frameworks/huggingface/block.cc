#include "frameworks/huggingface/block.h"

#include <utility>

#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/sharding.h"
#include "frameworks/huggingface/tensor_parallel.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Role;
using program::Slot;
using program::Tape;
using program::Tensor;
using spec::Dtype;

constexpr std::size_t kExpectedEvents = 1024;
constexpr Slot kInput{-1, program::kCarrySlot};
constexpr Slot kOutput{0, program::kCarrySlot};
constexpr Slot kInputGradient{-1, program::kCarryGradientSlot};
constexpr Slot kOutputGradient{0, program::kCarryGradientSlot};
constexpr Slot kHeldInput{0, program::kBoundarySlots + 8};
constexpr Slot kHeldGradient{0, program::kBoundarySlots + 9};

class BlockRecorder {
 public:
  BlockRecorder(const plan::Plan& plan, const spec::LayerKind& kind, bool input_wants_gradient,
                bool has_gradients, std::optional<Dtype> input)
      : plan_(plan),
        kind_(kind),
        frame_(plan, kind.tensors, 0, 0, has_gradients),
        layer_{tape_, plan, frame_, plan.model->Text()},
        input_wants_gradient_(input_wants_gradient) {
    const Frame before = BeforeFrame(plan, false);
    const Dtype embedding = before.WeightLeaf(before.Find(spec::Part::kTokenEmbedding)).dtype;
    stream_ = input.value_or(embedding);
    shape_ = {StreamRows(plan), plan.model->Text().hidden};
    cos_sin_ = tape_.Borrowed({plan.TokensPerMicroBatch(), shape_.cols}, embedding);
  }

  BlockSegments Record(program::SegmentStore& store) {
    if (plan_.checkpointing != spec::Checkpointing::kNone) {
      Checkpointed();
    } else {
      Plain();
    }
    const auto leaves = tape_.Finish(store);
    BlockSegments block{leaves[0], leaves[1], leaves[2], nullptr, nullptr, output_};
    if (leaves.size() > 3) {
      block.release_input = leaves[3];
      block.release_gradient = leaves[4];
    }
    return block;
  }

 private:
  void EnterAutocast() { tape_.set_autocast(plan_.autocast ? plan_.compute_dtype : Dtype::kFp32); }
  void ExitAutocast() {
    tape_.DropCastCache();
    tape_.set_autocast(Dtype::kFp32);
  }
  Tensor Input(Role role) {
    return tape_.Given(kInput, shape_, stream_, input_wants_gradient_, role, "block input");
  }
  Tensor OutputGradient() {
    return tape_.Given(kOutputGradient, shape_, output_, false, Role::kActivations,
                       "gradient of the residual stream");
  }

  // The loop variable of the model's forward refers to the input until the block has returned.
  Tensor Run(const Tensor& x) {
    Tensor out = ApplyBlock(layer_, kind_, x, cos_sin_);
    output_ = out.dtype();
    return out;
  }

  void Backpropagate(const Tensor& root, Tensor gradient, const Tensor& wrt) {
    if (!root.requires_grad()) return;  // frozen and nothing below wants a gradient
    Tensor result = tape_.Backward(root, std::move(gradient), wrt);
    if (result.defined()) tape_.Handover(std::move(result), kInputGradient, Role::kActivations);
  }

  void Plain() {
    EnterAutocast();
    Tensor x = Input(Role::kActivations);
    const Tensor wrt = tape_.Ghost(x);
    Tensor out = Run(x);
    x.reset();
    const Tensor root = tape_.Ghost(out);
    tape_.Handover(std::move(out), kOutput, Role::kActivations);
    tape_.Cut();
    ExitAutocast();
    tape_.Cut();
    Backpropagate(root, OutputGradient(), wrt);
    tape_.Cut();
  }

  // torch/utils/checkpoint.py: forward without saving, the input is kept; in backward the block
  // runs again with saving, under a fresh autocast region, then backpropagates. The reentrant
  // variant calls backward from within (CheckpointFunction.backward), which holds a second
  // reference to the incoming gradient and the recomputed output until it returns.
  void Checkpointed() {
    EnterAutocast();
    const bool keeps = plan_.checkpointing == spec::Checkpointing::kPerOperator;
    tape_.set_grad_enabled(false);
    if (keeps) tape_.set_keeping(Tape::Keeping::kKeep);
    Tensor x = Input(Role::kCheckpoints);
    Tensor out = Run(x);
    tape_.Handover(std::move(out), kOutput, Role::kCheckpoints);
    tape_.set_grad_enabled(true);
    tape_.Cut();
    ExitAutocast();
    tape_.Cut();

    EnterAutocast();
    Tensor gradient = OutputGradient();
    const Tensor wrt = tape_.Ghost(x);
    tape_.set_recomputing(true);
    if (keeps) tape_.set_keeping(Tape::Keeping::kTake);
    Tensor recomputed = Run(x);
    tape_.set_keeping(Tape::Keeping::kOff);
    tape_.set_recomputing(false);
    const Tensor root = tape_.Ghost(recomputed);
    ExitAutocast();
    Tensor held;
    if (plan_.facts.Is(plan::Fact::kCheckpointReentrant)) {
      held = gradient;
    } else {
      recomputed.reset();
      if (plan_.facts.Is(plan::Fact::kCheckpointStopsEarly)) tape_.StopRecomputingEarly();
    }
    Backpropagate(root, std::move(gradient), wrt);
    recomputed.reset();
    if (HoldsInputs(plan_, stream_)) {
      Hold(std::move(x), std::move(held));
      return;
    }
    held.reset();
    x.reset();
    tape_.Cut();
  }

  // Kept until the end of the whole backward pass, each released by a leaf of its own.
  void Hold(Tensor input, Tensor gradient) {
    const Bytes input_bytes = input.bytes();
    const Bytes gradient_bytes = gradient.bytes();
    tape_.Handover(std::move(input), kHeldInput, Role::kCheckpoints);
    tape_.Handover(std::move(gradient), kHeldGradient, Role::kActivations);
    tape_.Cut();
    tape_.FreeSlot(kHeldInput, input_bytes, Role::kCheckpoints, "block input");
    tape_.Cut();
    tape_.FreeSlot(kHeldGradient, gradient_bytes, Role::kActivations,
                   "gradient of the residual stream");
    tape_.Cut();
  }

  const plan::Plan& plan_;
  const spec::LayerKind& kind_;
  Tape tape_{kExpectedEvents};
  Frame frame_;
  Layer layer_;
  bool input_wants_gradient_;
  Dtype stream_ = Dtype::kBf16;  // before the block
  Dtype output_ = Dtype::kBf16;  // after it
  program::Shape shape_;
  Tensor cos_sin_;
};

}  // namespace

BlockSegments RecordBlock(const plan::Plan& plan, const spec::LayerKind& kind,
                          program::SegmentStore& store, bool input_wants_gradient,
                          bool has_gradients, std::optional<Dtype> input) {
  return BlockRecorder(plan, kind, input_wants_gradient, has_gradients, input).Record(store);
}

}  // namespace trainfit::frameworks::huggingface
