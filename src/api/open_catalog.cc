#include "api/open_catalog.h"

#include <utility>

#include "config/file_reader.h"

namespace trainfit::api {

Expected<catalog::Catalog> OpenCatalog(const std::vector<std::string>& files) {
  catalog::Catalog catalog;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const config::Node root, config::ReadJsonFile(file));
    if (Diagnostics errors = catalog.Add(root); !errors.empty()) return Fail(std::move(errors));
  }
  return catalog;
}

}  // namespace trainfit::api
