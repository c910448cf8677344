// The built-in catalogue with a user's files on top.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "catalog/catalog.h"

namespace trainfit::api {

// `files` in order: a record of a later one replaces that of an earlier one. Errors: those of
// reading, with file and line.
Expected<catalog::Catalog> OpenCatalog(const std::vector<std::string>& files);

}  // namespace trainfit::api
