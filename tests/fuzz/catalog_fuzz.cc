// Hardware notation, a machine file and a user's catalogue, all from the same bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "catalog/catalog.h"
#include "catalog/hardware.h"
#include "config/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  trainfit::catalog::Catalog catalog;
  (void)trainfit::catalog::ParseHardware(catalog, text);
  (void)catalog.FindModel(text);
  const auto node = trainfit::config::ParseJson("fuzz", text);
  if (!node) return 0;
  (void)trainfit::catalog::ReadMachine(catalog, *node);
  if (catalog.Add(*node).empty()) {
    (void)catalog.ListGpus();
    for (const std::string& id : catalog.Ids(trainfit::catalog::Kind::kInstance)) {
      (void)trainfit::catalog::ParseHardware(catalog, "2x" + id);
    }
  }
  return 0;
}
