#include "api/rules.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {

int RunRules(const Request& request, const Environment& /*environment*/) {
  if (request.files.size() != 1) {
    return PrintErrors({Error("too-many-arguments", "rules takes one file")});
  }
  const Expected<api::RulesAnswer> answer = api::Rules(request.files[0]);
  if (!answer) return PrintErrors(answer.error());
  return PrintAnswer(request.json ? answer->json : answer->page) ? kOk : kInternal;
}

}  // namespace trainfit::cli
