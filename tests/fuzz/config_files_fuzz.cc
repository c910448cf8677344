// Any bytes as a user's configuration file: a reading or an error, never an exception or a hang.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "readers/configs/own_words.h"
#include "readers/configs/reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainfit::readers;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto reading = ReadConfigTexts({{"fuzz", text}});
  if (!reading.has_value()) {
    CHECK(!reading.error().empty()) << "an error says what is wrong";
    return 0;
  }
  for (const KeyUse& use : reading->keys) {
    CHECK(use.value_begin <= use.value_end) << "a value has a place";
  }
  const auto edits = InOwnWords(*reading, "--micro-batch 1 --gradient-accumulation 8");
  for (std::size_t i = 0; i < reading->files.size(); ++i) {
    (void)ApplyEdits(*reading, i, edits);
  }
  return 0;
}
