// What NCCL's own tuner expects of an exchange: a latency and a rate for each algorithm and
// protocol, of which it takes the fastest (NCCL 2.30 src/graph/tuning.cc ncclTopoTuneModel,
// ncclTopoGetAlgoTime). The rates are not NCCL's tables of nominal rates but what the links reach.
#pragma once

#include "base/units.h"
#include "program/event.h"
#include "time/link_path.h"

namespace trainfit::time {

// Alone on its links. `bytes` as in program::Operation::moved; zero for a group of one.
Seconds NcclSeconds(program::Collective collective, Bytes bytes, const LinkPath& path);

// Bytes that cross a rank's link, as a share of the buffer: bus bandwidth is this over the time
// (nccl-tests doc/PERFORMANCE.md).
double BusShare(program::Collective collective, std::int64_t ranks);

}  // namespace trainfit::time
