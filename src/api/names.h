// Every name that the catalogue knows: for completion.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"

namespace trainfit::api {

// What --on takes: GPUs, then instances. Errors: those of reading the user's files.
Expected<std::vector<std::string>> HardwareNames(const std::vector<std::string>& catalog_files);
// What MODEL takes besides paths.
Expected<std::vector<std::string>> ModelNames(const std::vector<std::string>& catalog_files);

}  // namespace trainfit::api
