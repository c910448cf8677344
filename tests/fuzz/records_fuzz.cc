// A record of a measured run: read, and predicted as `trainfit validate` does; and the same bytes
// as a file of rules of thumb.
#include <cstddef>
#include <cstdint>
#include <string>

#include "catalog/catalog.h"
#include "config/json_reader.h"
#include "validate/model_of.h"
#include "validate/predict.h"
#include "validate/record.h"
#include "validate/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const trainfit::catalog::Catalog catalog;
  if (const auto rules = trainfit::validate::ReadRules("fuzz", text)) {
    (void)trainfit::validate::ComputeRules(catalog, *rules);
  }
  const auto node = trainfit::config::ParseJson("fuzz", text);
  if (!node) return 0;
  const auto record = trainfit::validate::ReadRecord(*node);
  if (!record) return 0;
  trainfit::validate::ModelFinder models(catalog);
  const auto prediction = trainfit::validate::Predict(record->run, catalog, models);
  for (const auto& estimate : prediction.memory) {
    if (estimate.low > estimate.point || estimate.point > estimate.high) __builtin_trap();
  }
  return 0;
}
