// How data parallelism holds and moves parameters, gradients and states: one strategy a file.
//
// The trainer records what one rank computes; a strategy wraps it with what it gathers before,
// frees after and reduces, and says how the optimizer's turn goes.
#pragma once

#include <memory>

#include "frameworks/huggingface/model_frames.h"

namespace trainfit::frameworks::huggingface {

// One micro-step of an accumulation.
struct Round {
  bool is_first = true;  // no gradients are there yet
  bool sync = true;      // gradients are reduced after it
};

class Sharding {
 public:
  virtual ~Sharding() = default;

  // Whether a later micro-step adds to each parameter's gradient where it lies. Otherwise its
  // gradients are new tensors, which the strategy adds up.
  virtual bool AccumulatesInPlace() const { return true; }

  // What wrapping the model adds, after loading and adapters.
  virtual void AppendInit(Children& children) = 0;

  // Around one micro-step.
  virtual void BeginForward(Children& children) = 0;
  virtual const program::Segment* Forward(const Position& position,
                                          const program::Segment* forward) = 0;
  virtual void EndForward(Children& children) = 0;
  virtual const program::Segment* Backward(const Position& position,
                                           const program::Segment* backward, Round round) = 0;
  virtual void EndBackward(Children& children, Round round) = 0;

  // The optimizer's turn up to and including zero_grad. States appear in the first step.
  virtual void AppendUpdate(Children& children, bool is_first) = 0;
};

// replicated.cc: one GPU, or DDP with its buckets.
std::unique_ptr<Sharding> MakeReplicated(const ModelFrames& frames);
// fsdp1.cc
std::unique_ptr<Sharding> MakeFsdp1(const ModelFrames& frames);
// Whether FSDP1 keeps each checkpointed layer's input, and the gradient of that input, until the
// end of backward. A frozen unit is resharded by a hook on its inputs, whose closure refers to
// their gradient accumulators; in a reentrant recomputation these inputs are leaves (torch >= 2.1
// _runtime_utils.py _register_post_backward_reshard_only_hook, _finalize_params;
// torch/utils/checkpoint.py CheckpointFunction.backward, detach_variable). `stream`: the residual
// stream's type.
bool HoldsInputs(const plan::Plan& plan, spec::Dtype stream);
// fsdp2.cc
std::unique_ptr<Sharding> MakeFsdp2(const ModelFrames& frames);

// Whether a hook takes each gradient away, into a buffer of the strategy, as soon as it is there.
inline bool TakesGradients(const plan::Plan& plan) {
  return plan.parallel.sharding == spec::Sharding::kZero2 ||
         plan.parallel.sharding == spec::Sharding::kZero3;
}
// zero12.cc: DeepSpeed's stages 1 and 2.
std::unique_ptr<Sharding> MakeZero12(const ModelFrames& frames);
// zero3.cc
std::unique_ptr<Sharding> MakeZero3(const ModelFrames& frames);
// The type in which a gradient is summed over the ranks: that of mixed precision, or its own.
inline spec::Dtype ReduceDtype(const plan::Plan& plan, spec::Dtype computed) {
  return IsMixed(plan) ? plan.reduce_dtype : computed;
}

// Optimizer states, temporaries and kernels of every frame, as the plain optimizers go through
// them; what a strategy does besides comes after.
void AppendPlainUpdate(const ModelFrames& frames, Children& children, bool is_first);

}  // namespace trainfit::frameworks::huggingface
