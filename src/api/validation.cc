#include "api/validation.h"

#include "api/open_catalog.h"

namespace trainfit::api {

Expected<Validation> Validate(const std::vector<std::string>& paths,
                              const std::vector<std::string>& catalog_files,
                              const validate::Progress& progress) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(catalog_files));
  return validate::Validate(paths, catalog, progress);
}

}  // namespace trainfit::api
