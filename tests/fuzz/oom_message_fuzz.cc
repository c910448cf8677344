// Any bytes as a log: amounts that are in order, or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "readers/oom_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto message = trainfit::readers::ReadOomMessage("fuzz", text);
  if (!message.has_value() || !message->requested) return 0;
  CHECK(message->requested->low <= message->requested->value) << "a range holds its value";
  CHECK(message->requested->value <= message->requested->high) << "a range holds its value";
  return 0;
}
