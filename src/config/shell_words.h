// A command line or script as the words that a shell would pass on.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "config/json_reader.h"
#include "config/node.h"

namespace trainfit::config {

// The commands of a text, each as its words: strings with their places. Quotes, escapes, comments,
// line continuations and `NAME=value` assignments are followed; a name that nobody assigned stays
// as `$NAME`. `;`, `&`, `|` and line ends separate commands. Nothing is run. Errors: a quote that
// is not closed, a text beyond the limits, bytes that are no UTF-8.
Expected<std::vector<std::vector<Node>>> ParseShellWords(std::string name, std::string text,
                                                         const ReadLimits& limits = {});

}  // namespace trainfit::config
