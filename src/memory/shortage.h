// Whether the caching allocator gets through a rank's phases on a card of a given size.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"
#include "memory/caching_allocator.h"
#include "memory/peak.h"
#include "program/program.h"

namespace trainfit::memory {

// The first allocation that fails, even after unused segments were given back.
struct Shortage {
  Bytes requested;
  Bytes allocated;  // torch's counter at that moment: what is live then
};

// Replays the phases in order with `settings.capacity` and stops at the first failure; unset when
// there is none. No names, no parts: about half the work of ReadPhases.
std::optional<Shortage> FindShortage(const program::RankProgram& rank,
                                     std::span<const HeldAllocation> held,
                                     const AllocatorSettings& settings);

}  // namespace trainfit::memory
