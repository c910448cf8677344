// Records of measured runs against predictions, for apps and bindings.
#pragma once

#include "validate/render.h"
#include "validate/validate.h"

namespace trainfit::api {

using validate::AccuracyPage;
using validate::GroupBy;
using validate::ParseGroupBy;
using validate::RenderOptions;
using validate::Validate;
using validate::Validation;
using validate::ValidationJson;
using validate::ValidationText;

}  // namespace trainfit::api
