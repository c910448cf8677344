// Price lists of other projects → a catalogue file.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "catalog/price_list.h"

namespace trainfit::api {

using catalog::ImportedPrices;
using catalog::PriceListOrigin;

// `catalog_files`: GPUs of a user's own that the list may name, on top of what is built in.
Expected<ImportedPrices> ImportPrices(const std::string& file, const PriceListOrigin& origin,
                                      const std::vector<std::string>& catalog_files);

}  // namespace trainfit::api
