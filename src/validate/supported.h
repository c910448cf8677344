// What of a run cannot be simulated yet, by name. Everything that is not listed is predicted.
#pragma once

#include <optional>
#include <string>

#include "spec/recipe.h"
#include "validate/record.h"

namespace trainfit::validate {

// A short reason, the same for all records that it concerns: "framework litgpt: no fact rows yet",
// "tensor parallel", "quantization gptq-int4". Absent: the run can be turned into a case.
std::optional<std::string> WhyNotSimulated(const Run& run);

// How the run spreads its model.
spec::Sharding ShardingOf(const Run& run);

}  // namespace trainfit::validate
