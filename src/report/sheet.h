// Everything that is known about one thing: a card with its sources and conflicts.
#pragma once

#include <string>
#include <vector>

#include "report/options.h"

namespace trainfit::report {

struct SheetFact {
  std::string label;
  std::string text;
};

// Facts first, then sentences, each a paragraph with a dash.
struct SheetSection {
  std::string title;
  std::vector<SheetFact> facts;
  std::vector<std::string> sentences;
};

struct Sheet {
  std::string title;
  std::vector<SheetSection> sections;  // empty ones are not shown
  std::string json;                    // the same for programs
};

std::string SheetText(const Sheet& sheet, const TextOptions& options);

}  // namespace trainfit::report
