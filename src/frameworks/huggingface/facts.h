// What TRL, transformers, PEFT and accelerate do when nobody says otherwise.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::huggingface {

std::span<const plan::FactRow> FactRows();
// Versions current on 30 November 2026.
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::huggingface
