// A case with its limits and remedies: what several functions answer with.
#pragma once

#include "base/expected.h"
#include "verdict/judge.h"

namespace trainfit::api {

// `warnings` of the readers go into the answer.
Expected<verdict::Answer> AnswerCase(const verdict::Case& question, bool want_remedies,
                                     const Diagnostics& warnings);

}  // namespace trainfit::api
