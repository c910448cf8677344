// One case in depth, for people and for programs.
#pragma once

#include <string>

#include "report/options.h"
#include "verdict/verdict.h"

namespace trainfit::report {

// One screen: verdict with its number and reason, bar, parts, readings, the other phases, limits,
// what would make it fit, assumptions. Ends with a newline.
std::string FitText(const verdict::Answer& answer, const TextOptions& options);

// The same as JSON, schema "trainfit.fit/1". Within a place the parts sum to point_bytes; what is
// not known is null. Fields may be added under the same schema, none changes its meaning.
std::string FitJson(const verdict::Answer& answer);

}  // namespace trainfit::report
