// The header of a GGUF file (llama.cpp): settings and tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "readers/checkpoint/stored_tensors.h"

namespace trainfit::readers {

struct GgufHeader {
  std::map<std::string, std::string, std::less<>> words;
  std::map<std::string, double, std::less<>> numbers;  // of lists: the first entry, if a number
  std::vector<StoredTensor> tensors;                   // shapes as torch writes them
};

enum class GgufState : std::uint8_t { kDone, kNeedsMore };

// `head`: the beginning of the file. kNeedsMore: the header goes on behind it, and `header` is not
// complete (never for `head` of `file_bytes`: that is an error). Follows ggml/docs/gguf.md,
// versions 2 and 3. Errors: no GGUF, counts and lengths that the file cannot hold, unknown types.
Expected<GgufState> ParseGguf(const std::string& name, std::string_view head,
                              std::uint64_t file_bytes, GgufHeader* header);

// The configuration that transformers would make of the header (integrations/ggml.py), as JSON
// text; empty: an architecture that is not known here.
std::string ConfigOfGguf(const GgufHeader& header);

}  // namespace trainfit::readers
