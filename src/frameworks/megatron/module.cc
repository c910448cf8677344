#include "frameworks/megatron/module.h"

#include <algorithm>

namespace trainfit::frameworks::megatron {

Tensor Module::Weight(spec::Part part, bool is_bias) const {
  const Parameter* parameter = Find(parameters, part, is_bias);
  if (parameter == nullptr) return {};
  program::Leaf leaf;
  leaf.shape = parameter->shape;
  leaf.dtype = plan.weight_dtype;
  leaf.trainable = true;
  leaf.has_gradient = true;  // a part of the gradient buffer
  leaf.label = Label(Name(part));
  return tape.Parameter(leaf);
}

namespace {

bool UsesSharedBuffers(const plan::Plan& plan) { return plan.facts.Is(plan::Fact::kSharedBuffers); }

}  // namespace

Split Module::TensorSplit() const {
  const bool is_engine = plan.facts.Is(plan::Fact::kTransformerEngine);
  return {.ranks = plan.parallel.tensor,
          .sequence = plan.parallel.sequence,
          .fused_accumulation = plan.fused_accumulation,
          .shared_buffer = UsesSharedBuffers(plan) && !is_engine,
          .fp8 = FormOf(plan)};
}

Split Module::VocabularySplit() const {
  return {plan.parallel.tensor, plan.parallel.sequence, program::Group::kTensor,
          plan.fused_accumulation, UsesSharedBuffers(plan)};
}

Split Module::NoSplit() const {
  return {1, false, program::Group::kTensor, plan.fused_accumulation, false};
}

Split Module::ExpertSplit() const {
  return {.ranks = plan.parallel.expert_tensor,
          .fused_accumulation = plan.fused_accumulation,
          .fp8 = FormOf(plan)};
}

Split Module::AfterNorm(Split split, bool is_one_module) const {
  const bool is_fused = is_one_module && plan.facts.Is(plan::Fact::kTransformerEngine);
  split.keeps_input = is_fused || !Recomputes(plan, spec::Recompute::kLayerNorm);
  return split;
}

bool Recomputes(const plan::Plan& plan, spec::Recompute what) {
  return plan.checkpointing == spec::Checkpointing::kSelective &&
         std::find(plan.recompute.begin(), plan.recompute.end(), what) != plan.recompute.end();
}

std::int64_t TokensInside(const plan::Plan& plan) {
  return plan.TokensPerMicroBatch() / plan.parallel.context;
}

std::int64_t TokensOutside(const plan::Plan& plan) {
  return TokensInside(plan) / (plan.parallel.sequence ? plan.parallel.tensor : 1);
}

Tensor ApplyNorm(const Module& module, const Tensor& x, spec::Part part, spec::NormKind kind) {
  if (kind == spec::NormKind::kNone) return x;
  const Tensor weight = module.Weight(part);
  const char* label = Label(Name(part));
  if (kind == spec::NormKind::kLayerNorm) {
    return program::LayerNorm(module.tape, x, weight, module.Weight(part, true), label);
  }
  return program::FusedRmsNorm(module.tape, x, weight, false, label);
}

}  // namespace trainfit::frameworks::megatron
