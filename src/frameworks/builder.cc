#include "frameworks/builder.h"

#include "frameworks/huggingface/trainer.h"

namespace trainfit::frameworks {

program::Program BuildProgram(const plan::Plan& plan) { return huggingface::BuildTrainer(plan); }

}  // namespace trainfit::frameworks
