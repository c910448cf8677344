#include "cli/commands.h"
#include "cli/locate.h"
#include "cli/output.h"

namespace trainfit::cli {
int RunFit(const Request& request, const Environment& environment) {
  api::FitRequest question{ModelOf(request, environment), request.on, request.recipe};
  question.catalog_files = CatalogFiles(request, environment);
  const Expected<verdict::Answer> answer = api::Fit(question);
  if (!answer) return PrintErrors(Located(answer.error(), request));
  if (!request.trace.empty()) {
    const Expected<std::string> trace = api::Trace(question);
    if (!trace) return PrintErrors(Located(trace.error(), request));
    if (!WriteFile(request.trace, *trace)) return kInternal;
  }
  const bool is_written =
      PrintAnswer(request.json ? api::FitJson(*answer)
                               : api::FitText(*answer, TextOptionsFor(request, environment)));
  return is_written ? StatusOf(answer->fit, request.strict) : kInternal;
}

}  // namespace trainfit::cli
