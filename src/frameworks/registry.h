// The frameworks that are known, by name and version.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "plan/facts.h"

namespace trainfit::frameworks {

// Facts of a framework. `framework`: "" or "huggingface" (TRL on transformers), "transformers" (the
// Trainer alone), "megatron", "megatron-deepspeed", "megatron-bridge", "nemo",
// "composer", "torchtitan", "litgpt", "torchtune", "fsdp_qlora". `versions`: "" for
// the current ones, or "transformers==4.48.3 torch==2.4.0 …", separated by blanks or commas;
// packages that are not named keep their current version. Errors: an unknown framework or package,
// with the nearest known word.
Expected<plan::FactTable> FindFacts(std::string_view framework, std::string_view versions);

}  // namespace trainfit::frameworks
