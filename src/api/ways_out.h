// What helps against running out of memory, by what the request was for.
#pragma once

#include <vector>

#include "readers/oom_message.h"
#include "report/oom.h"
#include "verdict/allocation_search.h"

namespace trainfit::api {

// General advice, best first; nothing is evaluated. `is_fragmented`: the cache held enough, in
// pieces.
std::vector<report::WayOut> WaysOut(const readers::OomMessage& message,
                                    std::optional<verdict::OomCause> cause, bool is_fragmented);

}  // namespace trainfit::api
