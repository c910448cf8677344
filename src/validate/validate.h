// Files of measured runs → rows and summaries.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "validate/score.h"

namespace trainfit::validate {

struct Validation {
  std::vector<std::string> files;  // their names, without folders
  std::vector<Row> rows;           // in the order of the files
  Diagnostics bad_lines;           // each was skipped; the others were read all the same
};

// done, total
using Progress = std::function<void(std::size_t, std::size_t)>;

// Reads JSON Lines files of the truth schema and predicts every record. Blank lines are nothing.
// Errors: a file that cannot be read at all. A line that is no record becomes one of `bad_lines`.
Expected<Validation> Validate(const std::vector<std::string>& paths,
                              const catalog::Catalog& catalog, const Progress& progress = {});

}  // namespace trainfit::validate
