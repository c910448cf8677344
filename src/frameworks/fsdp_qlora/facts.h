// What AnswerDotAI's fsdp_qlora does by itself; its models and adapters are those of transformers
// and PEFT.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::fsdp_qlora {

std::span<const plan::FactRow> FactRows();

// What its train.py was published with (March 2024).
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::fsdp_qlora
