// JSON of the nouns that several answers share. Each call writes one value, the caller its key.
#pragma once

#include "base/json_writer.h"
#include "plan/plan.h"
#include "spec/machine.h"
#include "verdict/verdict.h"

namespace trainfit::report {

void WriteStack(const plan::Stack& stack, JsonWriter* json);
// Without `trainable`, its field is left out: it is different for each method.
void WriteModel(const spec::ModelSpec& model, std::optional<std::int64_t> trainable,
                JsonWriter* json);
void WriteRecipe(const plan::Plan& plan, JsonWriter* json);
void WriteMachine(const spec::Machine& machine, JsonWriter* json);
void WriteParts(const std::vector<verdict::PartBytes>& parts, JsonWriter* json);
void WriteAssumptions(const std::vector<plan::Assumption>& assumptions, JsonWriter* json);
void WriteWarnings(const std::vector<std::string>& warnings, JsonWriter* json);

// All of trainfit.fit/1, for answers that have one inside.
void WriteFit(const verdict::Answer& answer, JsonWriter* json);

// The three fields point_bytes, low_bytes, high_bytes of the object that is open.
void WriteEstimateFields(const verdict::Estimate& estimate, JsonWriter* json);
// `key`: a number, or null when it is not known.
void WriteOptional(std::string_view key, const std::optional<std::int64_t>& value,
                   JsonWriter* json);
void WritePrice(std::string_view key, const std::optional<DollarsPerSecond>& price,
                JsonWriter* json);

}  // namespace trainfit::report
