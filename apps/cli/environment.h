// What the program can see of its surroundings: terminal, environment variables, the clock.
#pragma once

#include <string>

#include "api/render.h"
#include "cli/request.h"

namespace trainfit::cli {

struct Environment {
  int width = 80;      // columns for an answer: 60 to 100
  bool color = false;  // stdout is a terminal that wants colours
  bool unicode = true;
  std::string hf_cache;  // hub folder of the Hugging Face cache; "" when there is no home
  std::string catalog;   // the user's own catalogue file, if it is there; "" otherwise
  std::string program;   // how the user calls trainfit
  api::Date today;
};

Environment ReadEnvironment();

// How the answer to `request` is to look.
api::TextOptions TextOptionsFor(const Request& request, const Environment& environment);

}  // namespace trainfit::cli
