// Price lists of other projects → a catalogue file.
#pragma once

#include <string>

#include "base/expected.h"
#include "catalog/price_list.h"

namespace trainfit::api {

using catalog::ImportedPrices;
using catalog::PriceListOrigin;

Expected<ImportedPrices> ImportPrices(const std::string& file, const PriceListOrigin& origin);

}  // namespace trainfit::api
