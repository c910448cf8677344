// What torchtune's recipes do by themselves.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::torchtune {

std::span<const plan::FactRow> FactRows();

// torchtune 0.4 with the torch of its time.
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::torchtune
