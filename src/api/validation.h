// Records of measured runs against predictions, for apps and bindings.
#pragma once

#include "validate/render.h"
#include "validate/validate.h"

namespace trainfit::api {

using validate::AccuracyPage;
using validate::GroupBy;
using validate::ParseGroupBy;
using validate::RenderOptions;
using validate::Validation;
using validate::ValidationJson;
using validate::ValidationText;

// `catalog_files`: a user's own hardware and models, on top of what is built in.
Expected<Validation> Validate(const std::vector<std::string>& paths,
                              const std::vector<std::string>& catalog_files,
                              const validate::Progress& progress = {});

}  // namespace trainfit::api
