// Regular files, read whole and with care.
#pragma once

#include <string>

#include "base/expected.h"
#include "config/json_reader.h"

namespace trainfit::config {

// Reads a regular file of at most `limits.max_bytes`. A folder, FIFO, device, socket, a missing or
// unreadable file: an error that says which it is, at once (nothing is opened that could block).
Expected<std::string> ReadTextFile(const std::string& path, const ReadLimits& limits = {});

// ReadTextFile, then ParseJson or ParseYaml.
Expected<Node> ReadJsonFile(const std::string& path, const ReadLimits& limits = {});
Expected<Node> ReadYamlFile(const std::string& path, const ReadLimits& limits = {});

}  // namespace trainfit::config
