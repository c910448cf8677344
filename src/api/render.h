// How answers look, for apps and bindings: text for a terminal, JSON for programs.
#pragma once

#include "report/date.h"
#include "report/fit.h"
#include "report/layout.h"
#include "report/options.h"
#include "report/survey.h"

namespace trainfit::api {

using report::Date;
using report::DateOfDay;
using report::DateText;
using report::FitJson;
using report::FitText;
using report::ParseDate;
using report::SurveyJson;
using report::SurveyText;
using report::TextOptions;
using report::Wrap;

}  // namespace trainfit::api
