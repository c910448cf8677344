// Methods × memory × smallest hardware × price, for people and for programs.
#pragma once

#include <string>

#include "report/options.h"
#include "verdict/survey.h"

namespace trainfit::report {

// One screen. Ends with a newline.
std::string SurveyText(const verdict::Survey& survey, const TextOptions& options);

// The same as JSON, schema "trainfit.survey/1"; what is not known is null.
std::string SurveyJson(const verdict::Survey& survey);

}  // namespace trainfit::report
