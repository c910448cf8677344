#include "api/prices.h"

#include "config/file_reader.h"

namespace trainfit::api {

Expected<ImportedPrices> ImportPrices(const std::string& file, const PriceListOrigin& origin) {
  config::ReadLimits limits;
  limits.max_bytes = std::size_t{256} << 20;  // all regions of a large provider are some 20 MB
  ASSIGN_OR_RETURN(const std::string text, config::ReadTextFile(file, limits));
  const catalog::Catalog catalog;
  ASSIGN_OR_RETURN(ImportedPrices prices, catalog::ImportPriceList(catalog, file, text, origin));
  // What is written must be what the reader takes.
  ASSIGN_OR_RETURN(const config::Node tree, config::ParseJson("the imported prices", prices.json));
  catalog::Catalog test;
  if (Diagnostics errors = test.Add(tree); !errors.empty()) return Fail(std::move(errors));
  return prices;
}

}  // namespace trainfit::api
