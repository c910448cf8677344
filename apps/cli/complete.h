// `trainfit __complete WORDS…`: what may stand for the last word, one candidate a line. The shell
// scripts in share/completions ask it, so that they know no option, model or card themselves.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"

namespace trainfit::cli {

// `words`: the command line without the program's name, the word to complete last ("" for a new
// one). Empty when nothing is known to fit, or a file name is meant.
std::vector<std::string> Complete(const std::vector<std::string>& words,
                                  const Environment& environment);

}  // namespace trainfit::cli
