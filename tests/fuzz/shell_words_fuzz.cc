// Any bytes as a command line: words with places inside the text, or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/shell_words.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto commands = trainfit::config::ParseShellWords("fuzz", text);
  if (!commands.has_value()) return 0;
  for (const auto& command : *commands) {
    CHECK(!command.empty()) << "a command has words";
    for (const auto& word : command) {
      CHECK(word.begin <= word.end && word.end <= size) << "a word stands in the text";
    }
  }
  return 0;
}
