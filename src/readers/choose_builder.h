// From a configuration to the builder that reads it, known architecture or not.
#pragma once

#include "readers/registry.h"

namespace trainfit::readers {

// The builder of the file's model_type. An unknown or missing one: the nearest architecture by its
// keys, with a warning that names it; nothing near: an error, and nullptr.
Builder ChooseBuilder(ReadContext& context);

}  // namespace trainfit::readers
