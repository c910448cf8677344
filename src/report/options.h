// What a text looks like, and what it may not find out by itself.
#pragma once

#include <optional>
#include <string>

#include "report/date.h"

namespace trainfit::report {

struct TextOptions {
  int width = 80;             // columns; 60 and more
  bool color = false;         // ANSI colours
  bool unicode = true;        // off: the same text in ASCII
  bool explain = false;       // formulas and sources of every number
  std::optional<Date> today;  // to flag old prices; unset: prices are not judged
  // The recipe's options as the user typed them, for suggested commands: "--seq-len 4k".
  std::string typed_options;
  std::string program = "trainfit";  // how the user calls the program, for suggested commands
};

}  // namespace trainfit::report
