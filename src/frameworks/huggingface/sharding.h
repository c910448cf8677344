// How data parallelism holds and moves parameters, gradients and states: one strategy a file.
//
// The trainer records what one rank computes; a strategy wraps it with what it gathers before,
// frees after and reduces, and says how the optimizer's turn goes.
#pragma once

#include <memory>

#include "frameworks/huggingface/model_frames.h"

namespace trainfit::frameworks::huggingface {

class Sharding {
 public:
  virtual ~Sharding() = default;

  // What wrapping the model adds, after loading and adapters.
  virtual void AppendInit(Children& children) = 0;

  // Around one micro-step. `sync`: gradients are reduced after it (the last of the accumulation).
  virtual void BeginForward(Children& children) = 0;
  virtual const program::Segment* Forward(const Position& position,
                                          const program::Segment* forward) = 0;
  virtual void EndForward(Children& children) = 0;
  virtual const program::Segment* Backward(const Position& position,
                                           const program::Segment* backward, bool sync) = 0;
  virtual void EndBackward(Children& children, bool sync) = 0;

  // The optimizer's turn up to and including zero_grad. States appear in the first step.
  virtual void AppendUpdate(Children& children, bool is_first) = 0;
};

// replicated.cc: one GPU, or DDP with its buckets.
std::unique_ptr<Sharding> MakeReplicated(const ModelFrames& frames);
// fsdp2.cc
std::unique_ptr<Sharding> MakeFsdp2(const ModelFrames& frames);

// Optimizer states, temporaries and kernels of every frame, as the plain optimizers go through
// them; what a strategy does besides comes after.
void AppendPlainUpdate(const ModelFrames& frames, Children& children, bool is_first);

}  // namespace trainfit::frameworks::huggingface
