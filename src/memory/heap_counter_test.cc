// Replaces the global operator new of the test program, to prove that a path stays off the heap.
// In a file of its own: where the compiler sees both sides, it warns about new paired with free.
#include "memory/heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> g_allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace trainfit::memory {

std::int64_t HeapAllocations() { return g_allocations; }

}  // namespace trainfit::memory
