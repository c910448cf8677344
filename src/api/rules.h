// Rules of thumb beside what the product computes for them.
#pragma once

#include <string>

#include "base/expected.h"

namespace trainfit::api {

struct RulesAnswer {
  std::string page;  // Markdown
  std::string json;
};

// `file`: of the form of tests/truth/seeds.jsonl.
Expected<RulesAnswer> Rules(const std::string& file);

}  // namespace trainfit::api
