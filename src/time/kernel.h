// How long one kernel runs on one card, alone.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "program/event.h"
#include "time/card.h"

namespace trainfit::time {

// What a stretch of time is bound by.
// kStages: nothing to do until another pipeline stage has sent.
enum class Bound : std::uint8_t { kCompute, kBandwidth, kLaunch, kLink, kHost, kStages };
inline constexpr int kBoundCount = 6;

struct KernelTime {
  Seconds seconds;
  Bound bound = Bound::kCompute;
};

// Time on the GPU of all launches of `operation`; zero for waits. Copies on the copies' stream go
// over the link to the host. Collectives: collective.h.
KernelTime KernelSeconds(const program::Operation& operation, const Card& card);

}  // namespace trainfit::time
