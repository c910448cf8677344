// Points complaints of src/api at the word of the command line that they are about.
#pragma once

#include "base/diagnostic.h"
#include "cli/request.h"

namespace trainfit::cli {

// Complaints that have a place (a file's line) keep it; of the others, those whose code tells which
// option is meant get the place of its value, when it was typed.
Diagnostics Located(Diagnostics errors, const Request& request);

}  // namespace trainfit::cli
