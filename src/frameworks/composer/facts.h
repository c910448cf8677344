// What Composer and llm-foundry do by themselves.
#pragma once

#include <span>

#include "plan/facts.h"

namespace trainfit::frameworks::composer {

std::span<const plan::FactRow> FactRows();

// llm-foundry 0.6 with Composer 0.20, the last ones that train MPT with learned positions by
// default.
plan::Stack CurrentStack();

}  // namespace trainfit::frameworks::composer
