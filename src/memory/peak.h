// The two readings of a rank's program as memory.
//
// `SummarizePhases` reads the segments' summaries: levels of live bytes of every phase, in every
// place, without a heap allocation. `ReadPhases` walks the same tree event by event and adds the
// names: which parts make up the peak, when it is reached, and what PyTorch's allocators reserve
// for it. Both give the same levels; that law is property-tested.
//
// Phases follow one another: each starts from what the ones before it left behind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "memory/caching_allocator.h"
#include "program/event.h"
#include "program/program.h"

namespace trainfit::memory {

// Live bytes of one place in one phase; GPU bytes are rounded up to 512 each, as PyTorch does.
struct Levels {
  Bytes start;
  Bytes peak;
  Bytes end;
  bool operator==(const Levels&) const = default;
};
using PlaceLevels = std::array<Levels, program::kPlaceCount>;

// Bytes that the caching allocator hands out besides the program and keeps: cuBLAS workspaces
// (overhead.h). They appear at the start of the first phase that computes; their true first use is
// some kernels later, which matters for that one phase by at most their size.
struct HeldAllocation {
  Bytes bytes;
  const char* label = "";  // static text
};

// These allocations as events, in the shared frame.
std::vector<program::Event> HeldEvents(std::span<const HeldAllocation> held);
// Whether kernels run in this phase: cuBLAS is first used in the first such phase.
bool Computes(program::Phase phase);

// The summary.

// Levels of each phase, in order; returns how many were written (at most out.size()). No heap.
std::size_t SummarizePhases(const program::RankProgram& rank, std::span<const HeldAllocation> held,
                            std::span<PlaceLevels> out);

// The highest level of each place over all phases, and the phase that reaches it first. No heap.
struct Highest {
  Bytes bytes;
  std::size_t phase = 0;  // index into rank.phases
};
std::array<Highest, program::kPlaceCount> HighestLevels(const program::RankProgram& rank,
                                                        std::span<const HeldAllocation> held);

// The walk.

// All live tensors of one role and label at a peak.
struct Part {
  program::Role role = program::Role::kTemporary;
  std::string_view label;  // static text of the program
  Bytes bytes;
  std::int64_t tensors = 0;
  bool operator==(const Part&) const = default;
};

// When a level is reached first.
struct Moment {
  std::int64_t event = -1;     // number of the allocation in its phase; -1: at the phase's start
  std::string_view operation;  // the kernel that the allocation is made for; empty: none in sight
  std::string_view tensor;     // what is allocated
  std::int32_t frame = 0;      // where: layer, or program::kSharedFrame
  bool operator==(const Moment&) const = default;
};

struct PlaceReading {
  Levels levels;
  std::vector<Part> parts;  // at the peak, largest first; they sum to levels.peak
  Moment moment;
};

struct OutOfMemory {
  Bytes requested;
  Bytes allocated;  // torch's counters when it gave up
  Bytes reserved;
  std::string_view tensor;
  std::string_view operation;
  std::int32_t frame = 0;
};

// torch.cuda.memory_stats() of one phase, from the replayed allocator.
struct GpuReplay {
  Bytes allocated_peak;  // with what blocks hold beyond the rounding, when they are not split
  Bytes reserved_start;
  Bytes reserved_peak;
  Bytes reserved_end;
  std::int64_t retries = 0;  // cached segments had to be given back this often
  std::optional<OutOfMemory> out_of_memory;
};

struct PhaseReading {
  program::Phase phase = program::Phase::kSteadyStep;
  std::array<PlaceReading, program::kPlaceCount> places;
  std::optional<GpuReplay> gpu;  // absent: not asked for, or an earlier phase ran out of memory
  Bytes pinned_reserved_peak;    // with the rounding to powers of two; absent bytes are 0

  const PlaceReading& at(program::Place place) const {
    return places[static_cast<std::size_t>(place)];
  }
};

struct ReadOptions {
  AllocatorSettings allocator = {};
  bool replay = true;  // replay the GPU's caching allocator
  std::vector<HeldAllocation> held = {};
  std::vector<program::Phase> empty_cache_after = {};  // torch.cuda.empty_cache() at their ends
};

std::vector<PhaseReading> ReadPhases(const program::RankProgram& rank,
                                     const ReadOptions& options = {});

// Parts of one role put together; label empty.
std::vector<Part> ByRole(std::span<const Part> parts);

}  // namespace trainfit::memory
