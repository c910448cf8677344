#include "api/names.h"

#include "api/open_catalog.h"

namespace trainfit::api {

Expected<std::vector<std::string>> HardwareNames(const std::vector<std::string>& catalog_files) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(catalog_files));
  std::vector<std::string> names = catalog.Ids(catalog::Kind::kGpu);
  const std::vector<std::string> instances = catalog.Ids(catalog::Kind::kInstance);
  names.insert(names.end(), instances.begin(), instances.end());
  return names;
}

Expected<std::vector<std::string>> ModelNames(const std::vector<std::string>& catalog_files) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(catalog_files));
  return catalog.Ids(catalog::Kind::kModel);
}

}  // namespace trainfit::api
