// Any JSON as a model configuration: a model whose numbers are possible, or errors; never a crash.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/json_reader.h"
#include "readers/config_view.h"
#include "readers/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainfit;
  std::string text(reinterpret_cast<const char*>(data), size);
  const auto node = config::ParseJson("fuzz.json", std::move(text));
  if (!node.has_value()) return 0;
  Diagnostics warnings;
  const auto model = readers::ReadModelConfig(*node, "fuzz", &warnings);
  if (!model.has_value()) {
    CHECK(!model.error().empty()) << "a refusal says why";
    return 0;
  }
  CHECK(!model->stacks.empty()) << "a model has layers";
  const std::int64_t params = spec::ParameterCount(*model);
  const std::int64_t active = spec::ActiveParameterCount(*model);
  CHECK(params > 0 && params <= readers::kMaxParameters) << params;
  CHECK(active > 0 && active <= params) << active << " of " << params;
  return 0;
}
