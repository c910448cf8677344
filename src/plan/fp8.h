// Products in 8 bits: whether the card can, and in how many layouts it reads a matrix.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "spec/machine.h"

namespace trainfit::plan {

// Errors: a card without 8-bit products.
void ResolveFp8(const std::optional<spec::Fp8>& asked, const spec::Gpu& gpu, Plan& plan,
                Diagnostics& errors);

}  // namespace trainfit::plan
