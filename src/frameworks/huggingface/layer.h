// What the lowerings of one frame share: the tape, the plan, and where the layer's tensors lie.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "program/ops.h"
#include "program/tape.h"
#include "spec/model.h"

namespace trainfit::frameworks::huggingface {

// Slots of the adapters of tensor i: kAdapterBase + kMostAdapterTensors × i + number of the tensor.
inline constexpr std::int32_t kAdapterBase = 1 << 12;

// Slots in the shared frame.
enum SharedSlot : std::int32_t {
  kInputIds = program::kFirstSharedSlot,
  kLabels,
  kRotaryTable,
  kAttentionMask,
};

// One frame's tensors under a plan: a layer, or the ends of a stack.
class Frame {
 public:
  // `frame`: 0 for a layer (relative), program::kSharedFrame for the ends.
  // `base`: number of the first tensor's slot.
  Frame(const plan::Plan& plan, const std::vector<spec::TensorSpec>& tensors, std::int32_t frame,
        std::int32_t base, bool has_gradients);

  // Index of the tensor with this part (its bias with `is_bias`), or -1.
  std::int32_t Find(spec::Part part, bool is_bias = false) const;
  const spec::TensorSpec& tensor(std::int32_t i) const {
    return (*tensors_)[static_cast<std::size_t>(i)];
  }
  const plan::ParameterPlan& held(std::int32_t i) const {
    return held_[static_cast<std::size_t>(i)];
  }
  std::int32_t size() const { return static_cast<std::int32_t>(tensors_->size()); }

  // The type in which operations see a tensor that is stored as `stored`: FSDP's mixed precision
  // gathers weights in the compute dtype.
  spec::Dtype ComputeDtype(spec::Dtype stored) const;
  program::Leaf WeightLeaf(std::int32_t i) const;
  // The n-th tensor of the adapter of tensor i (LoRA: A, B), and how many there are.
  program::Leaf AdapterLeaf(std::int32_t i, std::int32_t n) const;
  std::int32_t AdapterCount(std::int32_t i) const;
  // IA³ on a feed-forward module: its vector is as long as the input.
  bool ScalesInput(std::int32_t i) const;
  program::Slot WeightSlot(std::int32_t i) const;
  program::Slot StateSlot(std::int32_t number, std::int32_t state) const;
  // Numbers that StateSlot and gradients use: tensor i, or an adapter of it.
  static std::int32_t AdapterNumber(std::int32_t i, std::int32_t n) {
    return kAdapterBase + plan::kMostAdapterTensors * i + n;
  }
  program::Slot GradientSlot(std::int32_t number) const {
    return {frame_, program::kGradientSlots + base_ + number};
  }
  // Number of a tensor that is unique among all frames that share a slot range.
  std::int32_t Unique(std::int32_t number) const { return base_ + number; }
  const plan::Plan& plan() const { return *plan_; }

 private:
  const plan::Plan* plan_;
  const std::vector<spec::TensorSpec>* tensors_;
  std::vector<plan::ParameterPlan> held_;
  std::vector<plan::AdapterTensor> adapters_;  // of all tensors, one after another
  std::vector<std::int32_t> first_adapter_;    // of each tensor, and the end
  std::int32_t frame_;
  std::int32_t base_;
  bool has_gradients_;
  // One FlatParameter holds trained and frozen weights: all of them get gradients.
  bool frozen_get_gradients_;
};

// Whether weights are held in another type than they are computed with. FSDP gathers them in the
// latter, with or without autocast.
inline bool IsMixed(const plan::Plan& plan) {
  return plan.precision == spec::Precision::kBf16Mixed ||
         plan.precision == spec::Precision::kFp16Mixed;
}

// Whether a mask tensor exists: padding, eager attention, or (outside flash) a window that is
// shorter than the sequence (transformers/masking_utils.py, _ignore_causal_mask_sdpa).
bool NeedsMask(const plan::Plan& plan);

// Tensor labels are static text: names of parts and activations are literals, so they end in a
// zero. NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
inline const char* Label(std::string_view literal) { return literal.data(); }

// While a frame is recorded.
struct Layer {
  program::Tape& tape;
  const plan::Plan& plan;
  const Frame& frame;
  const spec::Stack& stack;
};

// linear.cc: a linear module as PEFT and bitsandbytes wrap it. `weight`: index in the frame.
program::Tensor ApplyLinear(const Layer& layer, const program::Tensor& x, spec::Part part,
                            program::Role output_role = program::Role::kActivations);
// adapters.cc: what an adapter other than LoRA adds to the result of its base layer, or makes of
// it.
program::Tensor ApplyAdapter(const Layer& layer, const program::Tensor& x,
                             const program::Tensor& result, std::int32_t i);
// adapters.cc: IA³ on the input of a feed-forward module.
program::Tensor ScaleInput(const Layer& layer, const program::Tensor& x, std::int32_t i);
// linear.cc: x through a frozen matrix of `out` rows that is stored as Plan::quantization says.
program::Tensor QuantizedLinear(const Layer& layer, const program::Tensor& x, std::int64_t out,
                                const char* label);
// norm.cc: the norm with this part's weight; the input itself when the layer has none.
program::Tensor ApplyNorm(const Layer& layer, const program::Tensor& x, spec::Part part,
                          spec::NormKind kind);
// attention.cc: projections, rotary, attention, output projection. `cos_sin`: shared tables.
program::Tensor ApplyAttention(const Layer& layer, const spec::LayerKind& kind,
                               const program::Tensor& x, const program::Tensor& cos_sin);
// mlp.cc
program::Tensor ApplyActivation(const Layer& layer, spec::Activation activation,
                                const program::Tensor& x);
// moe.cc
program::Tensor ApplyMoe(const Layer& layer, const spec::Mlp& mlp, const program::Tensor& x);
// mlp.cc
program::Tensor ApplyMlp(const Layer& layer, const spec::LayerKind& kind, const program::Tensor& x);
// decoder_layer.cc: a whole block.
program::Tensor ApplyBlock(const Layer& layer, const spec::LayerKind& kind, program::Tensor x,
                           const program::Tensor& cos_sin);

}  // namespace trainfit::frameworks::huggingface
