// The user's own configuration files: what will happen with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/api.h"
#include "base/expected.h"
#include "report/check.h"

namespace trainfit::api {

using report::Check;
using report::CheckJson;
using report::CheckText;

struct CheckRequest {
  std::vector<std::string> files;  // a later one overrides an earlier one
  std::string on;                  // hardware notation
  ModelQuery model;                // its name empty: as the files name it
  std::vector<std::string> catalog_files;
  // Where the smallest change that fits is written: one of `files`, or another path; empty:
  // nowhere.
  std::string fix;
  std::optional<Bytes> other_figure;  // that somebody else gives for this run
};

// Errors: those of the files with their places, of the model and of the hardware; a run that cannot
// be simulated, by the key that asks for it.
Expected<Check> CheckFiles(const CheckRequest& request);

}  // namespace trainfit::api
