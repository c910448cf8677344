// Lowering of Megatron-LM and its relatives: a program for each class of pipeline ranks.
#pragma once

#include "plan/plan.h"
#include "program/program.h"

namespace trainfit::frameworks::megatron {

program::Program BuildTrainer(const plan::Plan& plan);

}  // namespace trainfit::frameworks::megatron
