// What --framework takes: a name before the first '@', versions behind it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frameworks/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  const std::string_view versions = at == text.npos ? std::string_view() : text.substr(at + 1);
  const auto facts = trainfit::frameworks::FindFacts(name, versions);
  if (facts && facts->stack().packages.empty()) __builtin_trap();
  return 0;
}
