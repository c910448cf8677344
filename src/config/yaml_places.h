// Where YAML values begin and end: yaml-cpp says only where their first token begins.
#pragma once

#include <cstddef>
#include <string_view>

namespace trainfit::config {

// The value at `at` behind its anchor and tag (`&name`, `!!type`) on the same line.
std::size_t SkipYamlProperties(std::string_view text, std::size_t at);

// End of the scalar whose first byte is at `at`; `value` is what the parser made of it. Of a scalar
// over several lines without quotes, the end of the first. npos: a quote is not closed, which the
// parser overlooks when the text ends with a line break.
std::size_t YamlScalarEnd(std::string_view text, std::size_t at, std::string_view value);

// End of the `*name` at `at`.
std::size_t YamlAliasEnd(std::string_view text, std::size_t at);

// End of a collection at `begin` whose last part ended at `last_end`: behind its bracket, if it
// has one.
std::size_t YamlCollectionEnd(std::string_view text, std::size_t begin, std::size_t last_end);

}  // namespace trainfit::config
