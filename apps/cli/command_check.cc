#include "api/check.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {

int RunCheck(const Request& request, const Environment& environment) {
  api::CheckRequest question;
  question.files = request.files;
  question.on = request.on;
  question.model = ModelOf(request, environment);
  question.catalog_files = CatalogFiles(request, environment);
  question.fix = request.fix;
  if (request.other_figure) question.other_figure = Bytes(*request.other_figure);
  const Expected<api::Check> check = api::CheckFiles(question);
  if (!check) return PrintErrors(check.error());
  if (!check->written_to.empty() && !WriteFile(check->written_to, check->written_text)) {
    return kInternal;
  }
  const bool is_written =
      PrintAnswer(request.json ? api::CheckJson(*check)
                               : api::CheckText(*check, TextOptionsFor(request, environment)));
  return is_written ? StatusOf(check->answer.fit, request.strict) : kInternal;
}

}  // namespace trainfit::cli
