// The run of transformers' Trainer (TRL's SFTTrainer): load, wrap, first step, steady step.
#pragma once

#include "plan/plan.h"
#include "program/program.h"

namespace trainfit::frameworks::huggingface {

program::Program BuildTrainer(const plan::Plan& plan);

}  // namespace trainfit::frameworks::huggingface
