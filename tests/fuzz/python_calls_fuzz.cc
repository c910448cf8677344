// Any bytes as Python source: calls with places inside the text, or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/python_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto calls = trainfit::config::ParsePythonCalls("fuzz", text);
  if (!calls.has_value()) return 0;
  for (const auto& call : *calls) {
    CHECK(!call.callee.empty()) << "a call has a name";
    for (const auto& member : call.arguments.members) {
      CHECK(member.value.begin <= member.value.end && member.value.end <= size)
          << "a value stands in the text";
    }
  }
  return 0;
}
