// What can be wrong with a text in any format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "config/json_reader.h"
#include "config/node.h"

namespace trainfit::config {

// Refuses texts beyond the size limit and those in UTF-16.
std::optional<Diagnostic> CheckWholeText(const std::string& name, std::string_view text,
                                         const ReadLimits& limits);

// Recognizes, in a text that is not in the `wanted` format ("JSON"), what downloads often are
// instead: a web page, a Git LFS pointer, a binary file.
std::optional<Diagnostic> FindOtherFormat(const Document& document, std::string_view wanted);

// Adds an error for each repeated key of the object, naming both places. JSON and YAML leave the
// meaning of a repeated key open, and their readers differ: nobody wants either.
void AppendDuplicateKeys(const Node& object, Diagnostics* problems);

}  // namespace trainfit::config
