// Any bytes as JSON: a tree or an error, never an exception, a crash or a hang.
#include <cstdint>
#include <string>

#include "config/json_reader.h"
#include "node_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using trainfit::config::ParseJson;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto strict = ParseJson("fuzz.json", text);
  trainfit::fuzz::CheckResult(strict);
  const auto lenient = ParseJson("fuzz.json", text, {.allow_non_finite = true});
  trainfit::fuzz::CheckResult(lenient);
  CHECK(!strict.has_value() || lenient.has_value()) << "lenient takes whatever strict takes";
  trainfit::fuzz::CheckResult(ParseJson("fuzz.json", text, {.max_depth = 3, .max_values = 10}));
  return 0;
}
