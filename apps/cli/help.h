// Help, made from the tables of commands and options.
#pragma once

#include <string>

#include "cli/commands.h"

namespace trainfit::cli {

// What `trainfit` alone prints: one line a command, and what to type first.
std::string ShortHelp(const Environment& environment);
// All options of a command, in 80 columns.
std::string Help(const Command& command, const Environment& environment);

}  // namespace trainfit::cli
