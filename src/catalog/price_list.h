// Exported price lists of other projects → machines of a user's catalogue file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "catalog/catalog.h"

namespace trainfit::catalog {

struct PriceListOrigin {
  std::string provider;  // where the rows do not say it
  std::string date;      // "2026-11-09": the day that the prices are of
};

struct ImportedPrices {
  std::string json;  // {"instances": [...]}, as Catalog::Add takes it
  std::int64_t machines = 0;
  std::int64_t rows = 0;
  std::map<std::string, std::int64_t> skipped;  // why → rows
};

// Two forms, told apart by their header:
//   gpuhunt (src/gpuhunt/_internal/models.py, CatalogItem): instance_name, location, price, cpu,
//     memory, gpu_count, gpu_name, gpu_memory, spot and perhaps provider; a row for each price.
//   SkyPilot (skypilot-catalog, catalogs/v8/*/vms.csv): InstanceType, AcceleratorName,
//     AcceleratorCount, vCPUs, MemoryGiB, Price, SpotPrice, Region, GpuInfo; a row for each region.
// A machine gets the least price of all regions. What the catalogue knows of a machine with the
// same name and GPUs (links, disks) is kept. Rows without GPU, without price and with GPUs that are
// not known are skipped and counted. Errors: another header, a number that is none.
Expected<ImportedPrices> ImportPriceList(const Catalog& catalog, const std::string& name,
                                         std::string_view text, const PriceListOrigin& origin);

}  // namespace trainfit::catalog
