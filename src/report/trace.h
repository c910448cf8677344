// A step in Chrome's trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "time/trace.h"

namespace trainfit::report {

// Complete events ("ph": "X") in microseconds; processes and threads have names ("ph": "M").
std::string TraceJson(const std::vector<time::TraceProcess>& processes);

}  // namespace trainfit::report
