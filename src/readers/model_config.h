// A model's config.json → ModelSpec, exact to the tensor.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/expected.h"
#include "config/node.h"
#include "spec/model.h"

namespace trainfit::readers {

// Reads a configuration in the form of the Hugging Face hub (transformers, and the diffusers UNet).
// Keys that a file leaves out take the defaults of its configuration class. An unknown model_type
// with the usual keys is read as the nearest known architecture. Errors name key and position, all
// at once; warnings and notes (defaults of main sizes, guesses) go to `warnings`, which may be
// null.
Expected<spec::ModelSpec> ReadModelConfig(const config::Node& root, std::string id,
                                          Diagnostics* warnings);

}  // namespace trainfit::readers
