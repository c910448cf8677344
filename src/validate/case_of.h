// A run → the question that the product answers.
#pragma once

#include "base/expected.h"
#include "catalog/catalog.h"
#include "validate/model_of.h"
#include "validate/record.h"
#include "verdict/judge.h"

namespace trainfit::validate {

// What the record leaves out takes the framework's default. Errors: one sentence that can stand as
// the reason for which the run is refused.
Expected<verdict::Case> CaseOf(const Run& run, const catalog::Catalog& catalog,
                               ModelFinder& models);

}  // namespace trainfit::validate
