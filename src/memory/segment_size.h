// What the caching allocator asks the driver for.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/allocator_constants.h"

namespace trainfit::memory {

// get_allocation_size of c10/cuda/CUDACachingAllocator.cpp: the segment that a request (a multiple
// of 512) brings when no cached block serves it. It is what "Tried to allocate" prints.
constexpr std::int64_t SegmentSize(std::int64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  if (size < kMinLargeAlloc) return kLargeBuffer;
  return RoundUp(size, kRoundLarge);
}

}  // namespace trainfit::memory
