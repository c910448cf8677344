// Runs of Megatron-LM and its relatives: what their flags mean, and which of them cannot be
// simulated yet.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/expected.h"
#include "spec/machine.h"
#include "spec/model.h"
#include "spec/recipe.h"
#include "validate/record.h"

namespace trainfit::validate {

// Why the run cannot be simulated, as far as it is Megatron's own.
std::optional<std::string> WhyNotMegatron(const Run& run);

// GPUs of one copy of the model, when a run of any number of copies needs the same of each GPU.
std::optional<std::int64_t> RanksOfOneCopy(const Run& run);

// Parallelism, recomputation, dropout and kernels. `gpu`: Transformer Engine chooses its attention
// by it.
void SetMegatron(const Run& run, const spec::Gpu& gpu, spec::Recipe& recipe);

// The model that Megatron builds of these flags and sizes. Errors: sizes that are missing.
Expected<std::shared_ptr<const spec::ModelSpec>> MegatronModel(const Run& run);

}  // namespace trainfit::validate
