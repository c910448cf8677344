// For tests: how often this program took memory from the heap. Counted in heap_counter_test.cc.
#pragma once

#include <cstdint>

namespace trainfit::memory {

std::int64_t HeapAllocations();

}  // namespace trainfit::memory
