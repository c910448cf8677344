// What a file of weights says about its tensors: names, types, shapes. No weights are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace trainfit::readers {

struct StoredTensor {
  std::string name;
  std::string dtype;  // as the file writes it: "BF16", "U8", "Q4_K"
  std::vector<std::int64_t> shape;

  std::int64_t Elements() const;  // the largest number instead of an overflow
};

// Of a file of the safetensors format: `head` is its beginning, at least 8 bytes and the header
// whose length these give; `file_bytes` is the size of the file. Errors: a length that lies, text
// that is no header, unknown types, offsets that overlap or leave the file, shapes that do not fit.
// (github.com/huggingface/safetensors, README "Format" and safetensors/src/tensor.rs.)
Expected<std::vector<StoredTensor>> ParseSafetensors(const std::string& name, std::string_view head,
                                                     std::uint64_t file_bytes);
// Length of the header of such a file from its first 8 bytes.
Expected<std::uint64_t> SafetensorsHeaderLength(const std::string& name, std::string_view head,
                                                std::uint64_t file_bytes);
constexpr std::uint64_t kLongestSafetensorsHeader = 100'000'000;  // as the library has it

}  // namespace trainfit::readers
