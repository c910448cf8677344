// Regular expressions as people write them for names of modules: Python's, without look-around and
// back-references. Matching has a budget of steps, so no pattern takes long.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace trainfit {

class Pattern {
 public:
  // Errors: what is no pattern, and what is not known here.
  static Expected<Pattern> Parse(std::string_view text);

  // Whether the whole text matches (Python's fullmatch). Past the budget: it does not.
  bool Matches(std::string_view text) const;

  struct Node;

 private:
  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace trainfit
