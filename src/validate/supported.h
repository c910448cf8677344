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

// A record's word without a remark in parentheses: "full_shard (BACKWARD_PRE)" is full_shard.
std::string_view WithoutRemark(std::string_view text);
// The attention kernel of a record, as --attention calls it.
std::string_view AttentionOf(const Run& run);

}  // namespace trainfit::validate
