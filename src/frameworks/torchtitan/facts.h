// What torchtitan does by itself.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::torchtitan {

std::span<const plan::FactRow> FactRows();

// torchtitan 0.1 with the torch of its time.
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::torchtitan
