// What Megatron-LM, Megatron-core, NeMo and their relatives do when nobody says otherwise.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/facts.h"

namespace trainfit::frameworks::megatron {

std::span<const plan::FactRow> FactRows();
// The dialects, by the name that --framework takes, with the versions current on 30 November 2026.
std::span<const plan::Stack> Stacks();

}  // namespace trainfit::frameworks::megatron
