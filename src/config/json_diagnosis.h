// Why a text is not JSON, in words: looks at the place where a parser stopped.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/diagnostic.h"
#include "config/node.h"

namespace trainfit::config {

// What the parser had accepted last.
enum class JsonAccepted { kNothing, kObjectBegin, kArrayBegin, kKey, kValue, kWholeText };

// Where a parser stopped.
struct JsonStop {
  JsonAccepted accepted = JsonAccepted::kNothing;
  std::size_t end = 0;        // byte behind the last accepted key, value or opening bracket
  bool is_in_object = false;  // of the innermost open container
  std::size_t opened_at = std::string_view::npos;  // its bracket; npos: none is open
};

// Names the mistake, with a suggestion for the usual ones. Never fails: a mistake that it does not
// recognize is still located.
Diagnostic DiagnoseJson(const Document& document, const JsonStop& stop);

// First byte at or after `at` that is not JSON white space.
std::size_t SkipJsonSpace(std::string_view text, std::size_t at);

// End of the longest JSON number at `at`; `at` itself when there is none.
std::size_t JsonNumberEnd(std::string_view text, std::size_t at);

}  // namespace trainfit::config
