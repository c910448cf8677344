#include "frameworks/huggingface/layer.h"

#include <algorithm>

#include "base/check.h"

namespace trainfit::frameworks::huggingface {

using program::Leaf;
using program::Slot;
using spec::TensorSpec;

Frame::Frame(const plan::Plan& plan, const std::vector<TensorSpec>& tensors, std::int32_t frame,
             std::int32_t base, bool has_gradients)
    : plan_(&plan), tensors_(&tensors), frame_(frame), base_(base), has_gradients_(has_gradients) {
  held_.reserve(tensors.size());
  first_adapter_.reserve(tensors.size() + 1);
  for (const TensorSpec& tensor : tensors) {
    held_.push_back(plan::HoldParameter(plan, tensor));
    first_adapter_.push_back(static_cast<std::int32_t>(adapters_.size()));
    const auto added = plan::AdapterTensorsOf(plan, tensor, held_.back());
    adapters_.insert(adapters_.end(), added.begin(), added.end());
  }
  first_adapter_.push_back(static_cast<std::int32_t>(adapters_.size()));
  // torch/distributed/fsdp/_flat_param.py _use_unsharded_views: every view of a flat parameter that
  // requires a gradient requires one.
  const bool has_trained = std::any_of(
      held_.begin(), held_.end(),
      [](const plan::ParameterPlan& held) { return held.trainable || held.lora_rank > 0; });
  frozen_get_gradients_ = has_trained && plan.parallel.sharding == spec::Sharding::kFsdp1 &&
                          !plan.facts.Is(plan::Fact::kAdapterUnits);
}

std::int32_t Frame::Find(spec::Part part, bool is_bias) const {
  for (std::size_t i = 0; i < tensors_->size(); ++i) {
    const TensorSpec& tensor = (*tensors_)[i];
    if (tensor.part == part && tensor.is_bias == is_bias) return static_cast<std::int32_t>(i);
  }
  return -1;
}

Slot Frame::WeightSlot(std::int32_t i) const { return {frame_, program::kWeightSlots + base_ + i}; }

Slot Frame::StateSlot(std::int32_t number, std::int32_t state) const {
  return {frame_, program::kStateSlots + (base_ + number) * program::kStatesPerTensor + state};
}

bool NeedsMask(const plan::Plan& plan) {
  const bool is_flash = plan.attention == spec::AttentionImplementation::kFlash2 ||
                        plan.attention == spec::AttentionImplementation::kFlash3;
  if (is_flash) return false;
  if (plan.attention == spec::AttentionImplementation::kEager || !plan.padding_free) return true;
  for (const spec::LayerKind& kind : plan.model->Text().kinds) {
    // transformers/masking_utils.py _ignore_causal_mask_sdpa: kv_length < local_attention_size.
    if (kind.attention.window > 0 && plan.sequence_length >= kind.attention.window) return true;
  }
  return false;
}

spec::Dtype Frame::ComputeDtype(spec::Dtype stored) const {
  // accelerate/utils/dataclasses.py: param_dtype = reduce_dtype = output_dtype of the precision.
  const spec::Sharding sharding = plan_->parallel.sharding;
  const bool is_fsdp = sharding == spec::Sharding::kFsdp1 || sharding == spec::Sharding::kFsdp2;
  const bool casts = is_fsdp && IsMixed(*plan_);
  return casts && stored == spec::Dtype::kFp32 ? plan_->compute_dtype : stored;
}

Leaf Frame::WeightLeaf(std::int32_t i) const {
  const TensorSpec& spec = tensor(i);
  Leaf leaf;
  leaf.weight = WeightSlot(i);
  leaf.gradient = GradientSlot(i);
  if (held(i).saved_copy) {  // ModulesToSaveWrapper.forward calls the copy
    const std::int32_t number = AdapterNumber(i, 0);
    leaf.weight = {frame_, program::kWeightSlots + base_ + number};
    leaf.gradient = GradientSlot(number);
  }
  // Experts are seen as one matrix, stacked along the rows.
  const std::int64_t rows = spec.OutFeatures() * spec.copies;
  leaf.shape = {rows, spec.Elements() / rows};
  leaf.dtype = ComputeDtype(held(i).dtype);
  leaf.trainable = held(i).trainable || held(i).saved_copy || frozen_get_gradients_;
  leaf.has_gradient = has_gradients_ && leaf.trainable;
  leaf.label = Label(Name(spec.part));
  return leaf;
}

std::int32_t Frame::AdapterCount(std::int32_t i) const {
  const auto first = first_adapter_.begin() + i;
  return first[1] - first[0];
}

bool Frame::ScalesInput(std::int32_t i) const {
  if (plan_->lora.kind != spec::AdapterKind::kIa3) return false;
  return plan::IsFeedforward(*plan_, tensor(i));
}

Leaf Frame::AdapterLeaf(std::int32_t i, std::int32_t n) const {
  CHECK(n >= 0 && n < AdapterCount(i)) << n;
  const plan::AdapterTensor& added =
      *(adapters_.begin() + first_adapter_[static_cast<std::size_t>(i)] + n);
  const std::int32_t number = AdapterNumber(i, n);
  Leaf leaf;
  leaf.weight = {frame_, program::kWeightSlots + base_ + number};
  leaf.gradient = GradientSlot(number);
  leaf.shape = {added.rows, added.cols};
  leaf.dtype = ComputeDtype(plan_->adapter_dtype);
  leaf.trainable = true;
  leaf.has_gradient = has_gradients_;
  leaf.label = added.label;
  return leaf;
}

}  // namespace trainfit::frameworks::huggingface
