#include "api/answer_case.h"

namespace trainfit::api {

Expected<verdict::Answer> AnswerCase(const verdict::Case& question, bool want_remedies,
                                     const Diagnostics& warnings) {
  ASSIGN_OR_RETURN(verdict::Answer answer, verdict::Judge(question));
  if (want_remedies) {
    answer.limits = verdict::FindLimits(question, answer);
    if (answer.fit != verdict::Fit::kFits) {
      answer.remedies = verdict::FindRemedies(question, answer);
    }
  }
  for (const Diagnostic& warning : warnings) answer.warnings.push_back(warning.message);
  return answer;
}

}  // namespace trainfit::api
