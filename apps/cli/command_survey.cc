#include <algorithm>

#include "base/nearest_word.h"
#include "cli/commands.h"
#include "cli/locate.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

// A lone word that is no model may have been meant as a command.
void SuggestCommand(const std::string& word, Diagnostics* errors) {
  const std::string command = NearestWord(word, CommandNames());
  if (command.empty() || errors->empty()) return;
  errors->front().notes.push_back("there is a command called " + command);
}

}  // namespace

int RunSurvey(const Request& request, const Environment& environment) {
  Expected<verdict::Survey> survey = api::Survey(
      {ModelOf(request, environment), request.recipe, CatalogFiles(request, environment)});
  if (!survey) {
    SuggestCommand(request.model, &survey.error());
    return PrintErrors(Located(survey.error(), request));
  }
  const bool is_written =
      PrintAnswer(request.json ? api::SurveyJson(*survey)
                               : api::SurveyText(*survey, TextOptionsFor(request, environment)));
  return is_written ? kOk : kInternal;
}

}  // namespace trainfit::cli
