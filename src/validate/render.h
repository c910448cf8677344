// A validation as people, programs and the documentation read it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "validate/validate.h"

namespace trainfit::validate {

struct RenderOptions {
  std::optional<GroupBy> by;  // absent: by source
  std::size_t worst = 0;      // rows with the largest errors to show with their parts
};

std::string ValidationText(const Validation& validation, const RenderOptions& options);
// rows[{id, refused, memory, verdicts}], worst, summaries by everything there is.
std::string ValidationJson(const Validation& validation);
// docs/accuracy.md
std::string AccuracyPage(const Validation& validation);

}  // namespace trainfit::validate
