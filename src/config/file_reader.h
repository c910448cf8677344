// Regular files, read whole and with care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/expected.h"
#include "config/json_reader.h"

namespace trainfit::config {

// Reads a regular file of at most `limits.max_bytes`. A folder, FIFO, device, socket, a missing or
// unreadable file: an error that says which it is, at once (nothing is opened that could block).
Expected<std::string> ReadTextFile(const std::string& path, const ReadLimits& limits = {});

// The first bytes of a regular file, at most `bytes`, and how many it has in all. Errors as above.
struct FileHead {
  std::string text;
  std::uint64_t file_bytes = 0;
};
Expected<FileHead> ReadFileHead(const std::string& path, std::size_t bytes);

// ReadTextFile, then ParseJson or ParseYaml.
Expected<Node> ReadJsonFile(const std::string& path, const ReadLimits& limits = {});
Expected<Node> ReadYamlFile(const std::string& path, const ReadLimits& limits = {});

}  // namespace trainfit::config
