// Sizes of c10/cuda/CUDACachingAllocator.cpp (PyTorch 001074d), in bytes.
#pragma once

#include <cstdint>

namespace trainfit::memory {

inline constexpr std::int64_t kMinBlockSize = 512;          // all sizes are multiples of it
inline constexpr std::int64_t kSmallSize = 1'048'576;       // largest request of the small pool
inline constexpr std::int64_t kSmallBuffer = 2'097'152;     // segment (and page) of the small pool
inline constexpr std::int64_t kLargeBuffer = 20'971'520;    // segment of requests below
inline constexpr std::int64_t kMinLargeAlloc = 10'485'760;  // … this; page of the large pool
inline constexpr std::int64_t kRoundLarge = 2'097'152;      // larger segments are multiples of it

}  // namespace trainfit::memory
