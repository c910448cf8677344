// A price list as gpuhunt or SkyPilot export it. What the import writes is JSON, which the
// catalogue takes or refuses with errors (a count of GPUs that no machine has).
#include <cstddef>
#include <cstdint>
#include <string>

#include "catalog/catalog.h"
#include "catalog/price_list.h"
#include "config/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  trainfit::catalog::Catalog catalog;
  const auto prices =
      trainfit::catalog::ImportPriceList(catalog, "fuzz.csv", text, {"lambda", "2026-11-09"});
  if (!prices) return 0;
  const auto node = trainfit::config::ParseJson("fuzz", prices->json);
  if (!node) __builtin_trap();
  (void)catalog.Add(*node);
  return 0;
}
