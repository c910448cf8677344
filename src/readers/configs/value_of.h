// A value of a file as the value of a term.
#pragma once

#include <optional>
#include <string>

#include "base/expected.h"
#include "config/node.h"
#include "readers/configs/draft.h"
#include "readers/configs/terms.h"

namespace trainfit::readers {

// Numbers and switches may be quoted, as on a command line; names may be a list or one string with
// commas. Errors: the kind of value is another, or a count is out of any range.
Expected<Said> ValueOf(Term term, const std::string& key, const config::Node& value);

// The value as written, in one line of at most `columns`.
std::string ShortText(const config::Node& value, int columns = 40);

}  // namespace trainfit::readers
