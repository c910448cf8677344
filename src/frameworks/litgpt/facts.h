// What litgpt does by itself.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::litgpt {

std::span<const plan::FactRow> FactRows();

// litgpt 0.5 with the torch of its time; bitsandbytes 0.42 is the one it supports.
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::litgpt
