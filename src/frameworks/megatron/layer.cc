#include "frameworks/megatron/layer.h"

#include <utility>

#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Role;
using program::Slot;
using spec::Part;

constexpr std::size_t kExpectedEvents = 512;
constexpr Slot kInput{-1, program::kCarrySlot};
constexpr Slot kOutput{0, program::kCarrySlot};
constexpr Slot kInputGradient{-1, program::kCarryGradientSlot};
constexpr Slot kOutputGradient{0, program::kCarryGradientSlot};

class LayerRecorder {
 public:
  LayerRecorder(const plan::Plan& plan, const spec::LayerKind& kind)
      : plan_(plan),
        kind_(kind),
        parameters_(LayerParameters(plan, kind)),
        module_{tape_, plan, parameters_},
        shape_{TokensOutside(plan), plan.model->Text().hidden} {
    tape_.set_python_functions();
  }

  Piece Record(bool recomputed, program::SegmentStore& store) {
    recomputed ? Checkpointed() : Plain();
    const auto leaves = tape_.Finish(store);
    return {leaves[0], leaves[1]};
  }

 private:
  Tensor Input(Role role) {
    return tape_.Given(kInput, shape_, plan_.compute_dtype, true, role, "layer input");
  }
  Tensor OutputGradient() {
    return tape_.Given(kOutputGradient, shape_, plan_.compute_dtype, false, Role::kActivations,
                       "gradient of the residual stream");
  }

  // megatron/core/transformer/transformer_layer.py: norm, attention, bias-dropout-add, norm, MLP,
  // bias-dropout-add.
  Tensor Run(const Tensor& x) {
    const double dropout = plan_.hidden_dropout;
    Tensor middle;
    {
      Tensor normed = ApplyNorm(module_, x, Part::kInputNorm, kind_.norm);
      const Tensor attended = ApplyAttention(module_, kind_, normed);
      normed.reset();
      middle = BiasDropoutAdd(tape_, attended, module_.Weight(Part::kOutput, true), x, dropout,
                              "residual after attention");
    }
    Tensor normed = ApplyNorm(module_, middle, Part::kPreMlpNorm, kind_.norm);
    const Tensor out = ApplyMlp(module_, kind_, normed);
    normed.reset();
    return BiasDropoutAdd(tape_, out, module_.Weight(Part::kDown, true), middle, dropout,
                          "residual after MLP");
  }

  void Backpropagate(const Tensor& root, Tensor gradient, const Tensor& wrt) {
    Tensor result = tape_.Backward(root, std::move(gradient), wrt);
    tape_.Handover(std::move(result), kInputGradient, Role::kActivations);
  }

  void Plain() {
    Tensor x = Input(Role::kActivations);
    const Tensor wrt = tape_.Ghost(x);
    Tensor out = Run(x);
    x.reset();
    const Tensor root = tape_.Ghost(out);
    tape_.Handover(std::move(out), kOutput, Role::kActivations);
    tape_.Cut();
    Backpropagate(root, OutputGradient(), wrt);
    tape_.Cut();
  }

  // megatron/core/tensor_parallel/random.py CheckpointFunction: forward without saving; backward
  // runs the layer again and backpropagates from within, which holds the recomputed output and a
  // second reference to the incoming gradient until it returns.
  void Checkpointed() {
    tape_.set_grad_enabled(false);
    Tensor x = Input(Role::kCheckpoints);
    Tensor out = Run(x);
    tape_.Handover(std::move(out), kOutput, Role::kCheckpoints);
    tape_.set_grad_enabled(true);
    tape_.Cut();
    Tensor gradient = OutputGradient();
    Tensor held = gradient;
    const Tensor wrt = tape_.Ghost(x);
    {
      tape_.set_recomputing(true);
      const Tensor recomputed = Run(x);
      tape_.set_recomputing(false);
      Backpropagate(tape_.Ghost(recomputed), std::move(gradient), wrt);
    }
    held.reset();
    x.reset();
    tape_.Cut();
  }

  const plan::Plan& plan_;
  const spec::LayerKind& kind_;
  Tape tape_{kExpectedEvents};
  Parameters parameters_;
  Module module_;
  program::Shape shape_;
};

}  // namespace

Piece RecordLayer(const plan::Plan& plan, const spec::LayerKind& kind, bool recomputed,
                  program::SegmentStore& store) {
  return LayerRecorder(plan, kind).Record(recomputed, store);
}

}  // namespace trainfit::frameworks::megatron
