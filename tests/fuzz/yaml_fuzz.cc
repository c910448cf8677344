// Any bytes as YAML: a tree or an error, never an exception, a crash or a hang.
#include <cstdint>
#include <string>

#include "config/yaml_reader.h"
#include "node_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using trainfit::config::ParseYaml;
  const std::string text(reinterpret_cast<const char*>(data), size);
  trainfit::fuzz::CheckResult(ParseYaml("fuzz.yaml", text));

  const trainfit::config::ReadLimits tight{.max_depth = 5, .max_values = 100};
  const auto result = ParseYaml("fuzz.yaml", text, tight);
  trainfit::fuzz::CheckResult(result);
  if (result.has_value()) {
    CHECK(trainfit::fuzz::CheckNode(*result) <= tight.max_values) << "aliases count as well";
  }
  return 0;
}
