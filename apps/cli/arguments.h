// argv → command and request, by the option table.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cli/commands.h"
#include "cli/request.h"

namespace trainfit::cli {

struct Arguments {
  const Command* command = nullptr;  // never null after parsing
  Request request;
  Diagnostics errors;  // all of them, in the order of the words; empty: go ahead
};

// `words` without the program's name. Each complaint points at the word that it is about.
Arguments ParseArguments(const std::vector<std::string>& words);

}  // namespace trainfit::cli
