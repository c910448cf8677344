#include "frameworks/builder.h"

#include "frameworks/huggingface/trainer.h"
#include "frameworks/megatron/trainer.h"

namespace trainfit::frameworks {

program::Program BuildProgram(const plan::Plan& plan) {
  return plan.facts.Is(plan::Fact::kModelParallel) ? megatron::BuildTrainer(plan)
                                                   : huggingface::BuildTrainer(plan);
}

}  // namespace trainfit::frameworks
