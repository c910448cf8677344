#include "api/prices.h"

#include "api/open_catalog.h"
#include "config/file_reader.h"

namespace trainfit::api {

Expected<ImportedPrices> ImportPrices(const std::string& file, const PriceListOrigin& origin,
                                      const std::vector<std::string>& catalog_files) {
  config::ReadLimits limits;
  limits.max_bytes = std::size_t{256} << 20;  // all regions of a large provider are some 20 MB
  ASSIGN_OR_RETURN(const std::string text, config::ReadTextFile(file, limits));
  ASSIGN_OR_RETURN(catalog::Catalog catalog, OpenCatalog(catalog_files));
  ASSIGN_OR_RETURN(ImportedPrices prices, catalog::ImportPriceList(catalog, file, text, origin));
  // What is written must be what the reader takes.
  ASSIGN_OR_RETURN(const config::Node tree, config::ParseJson("the imported prices", prices.json));
  if (Diagnostics errors = catalog.Add(tree); !errors.empty()) return Fail(std::move(errors));
  return prices;
}

}  // namespace trainfit::api
