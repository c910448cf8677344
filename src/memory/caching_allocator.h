// PyTorch's native CUDA caching allocator, replayed: the same requests in the same order give the
// same blocks, segments and counters as torch.cuda.memory_stats().
//
// Read from c10/cuda/CUDACachingAllocator.cpp (PyTorch 001074d) and c10/core/AllocatorConfig.cpp.
// A request is rounded to 512 bytes, goes to the small (≤ 1 MiB) or large pool of its stream, takes
// the smallest free block that holds it, and gives back what is left of the block when the rest is
// worth keeping. Without a free block a segment is taken from the device: 2 MiB, 20 MiB, or the
// request rounded up to 2 MiB. Freed blocks merge with free neighbours of their segment; segments
// stay until the device is full.
//
//   1 048 577 B → block 1 049 088, segment 20 971 520, remainder 19 922 432 stays free
//
// Not modelled: CUDA graph pools, blocks that wait for events of other streams (a program's frees
// stand where the memory can be reused), the addresses that the driver really hands out (here
// segments lie in the order of their creation; PyTorch breaks ties between equal blocks by
// address).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "memory/free_blocks.h"
#include "program/event.h"

namespace trainfit::memory {

// PYTORCH_CUDA_ALLOC_CONF, and what the device can give.
struct AllocatorSettings {
  static constexpr std::size_t kRoundupIntervals = 16;  // 1 MiB … 64 GiB, one a power of two

  bool expandable_segments = false;
  std::optional<Bytes> max_split_size = std::nullopt;  // absent: every block may be split
  Bytes max_non_split_rounding = 20 * kMiB;
  // Steps between two powers of two, by log2(size / MiB) cut to the table; 0 and 1: 512 bytes.
  std::array<std::int64_t, kRoundupIntervals> roundup_power2_divisions = {};
  double garbage_collection_threshold = 0;           // 0: off; acts only together with memory_limit
  std::optional<Bytes> memory_limit = std::nullopt;  // set_per_process_memory_fraction
  std::optional<Bytes> capacity = std::nullopt;      // what all segments may sum to; absent: no end
};

class CachingAllocator {
 public:
  using BlockId = std::int32_t;
  static constexpr BlockId kOutOfMemory = -1;

  struct BlockView {
    Bytes size;
    Bytes requested;  // 0 when free
    bool allocated = false;
  };
  // A stretch of device memory: one cudaMalloc, or one mapped range of an expandable segment.
  struct SegmentView {
    program::Stream stream = program::Stream::kCompute;
    bool small = false;
    Bytes size;
    std::vector<BlockView> blocks;  // in address order, summing to size
  };

  explicit CachingAllocator(const AllocatorSettings& settings = {});

  // The block that serves the request, or kOutOfMemory after all retries failed.
  BlockId Allocate(Bytes requested, program::Stream stream = program::Stream::kCompute);
  void Free(BlockId block);
  void EmptyCache();  // torch.cuda.empty_cache()

  Bytes RoundedSize(Bytes requested) const;
  Bytes BlockSize(BlockId block) const { return Bytes(At(block).size); }

  Bytes allocated() const { return Bytes(allocated_); }  // memory_allocated
  Bytes reserved() const { return Bytes(reserved_); }    // memory_reserved
  Bytes requested() const { return Bytes(requested_); }
  Bytes peak_allocated() const { return Bytes(peak_allocated_); }  // since the last ResetPeaks
  Bytes peak_reserved() const { return Bytes(peak_reserved_); }
  void ResetPeaks();
  std::int64_t retries() const { return retries_; }              // num_alloc_retries
  std::int64_t out_of_memory() const { return out_of_memory_; }  // num_ooms

  // Everything that is held now, in address order. For tests and reports: allocates.
  std::vector<SegmentView> Segments() const;

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::uint8_t kNoPool = 255;
  static constexpr std::size_t kStreams = 4;

  struct Block {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t requested = 0;
    std::int64_t age_base = 0;      // search count of its size class when it became free
    std::int32_t previous = kNone;  // neighbours in the same segment
    std::int32_t next = kNone;
    std::uint8_t pool = kNoPool;  // index into pools_; kNoPool: not in use
    bool allocated = false;
    bool mapped = true;  // false: address space of an expandable segment without pages
    bool expandable = false;
  };

  struct Pool {
    FreeBlocks free;
    std::vector<std::int32_t> unmapped;  // address order; expandable segments alone
    bool small = false;
  };

  Block& At(std::int32_t block) { return blocks_[static_cast<std::size_t>(block)]; }
  const Block& At(std::int32_t block) const { return blocks_[static_cast<std::size_t>(block)]; }
  Pool& PoolOf(const Block& block) { return pools_[static_cast<std::size_t>(block.pool)]; }
  std::uint8_t PoolIndex(std::int64_t size, program::Stream stream) const;

  std::int64_t RoundSize(std::int64_t requested) const;
  std::int64_t MaxSplitSize() const { return max_split_size_; }
  bool CollectsGarbage() const;

  // The steps of an allocation, named after their originals.
  std::int32_t GetFreeBlock(std::uint8_t pool, std::int64_t size);
  std::int32_t AllocBlock(std::uint8_t pool, std::int64_t size);
  bool ShouldSplit(const Block& block, std::int64_t size) const;
  std::int32_t SplitBlock(std::int32_t block, std::int64_t size);
  std::int64_t TryMerge(std::int32_t into, std::int32_t from);
  void GarbageCollect();
  bool ReleaseAvailableCachedBlocks(std::uint8_t pool, std::int64_t size);
  void ReleaseCachedBlocks();
  void ReleaseBlocks(Pool& pool);
  void ReleaseBlock(std::int32_t block);

  // Expandable segments (expandable_segments.cc).
  std::int64_t ExpandableSize(const Block& block) const;
  std::int32_t TryAllocateExpandable(std::uint8_t pool, std::int64_t size);
  std::int32_t FindExpandable(std::uint8_t pool, std::int64_t size);
  bool HasAddressSpace(std::int32_t block, std::int64_t size) const;
  bool MapBlock(std::int32_t block, std::int64_t size);
  void UnmapBlock(std::int32_t block);
  void InsertUnmapped(std::int32_t block);
  void EraseUnmapped(std::int32_t block);

  std::int32_t NewBlock(std::uint8_t pool, std::int64_t address, std::int64_t size);
  void DeleteBlock(std::int32_t block);
  void InsertFree(std::int32_t block);
  void EraseFree(std::int32_t block);
  void AddReserved(std::int64_t size);
  bool DeviceHolds(std::int64_t size) const;

  AllocatorSettings settings_;
  std::int64_t max_split_size_;  // INT64_MAX: none
  std::vector<Block> blocks_;
  std::vector<std::int32_t> unused_blocks_;
  std::vector<std::int32_t> scratch_;          // blocks to release; kept to stay off the heap
  std::array<Pool, 2 * kStreams> pools_;       // 2 × stream + (large ? 1 : 0)
  std::array<std::int64_t, 2> searches_ = {};  // of the small and the large pools, for ages
  std::int64_t next_address_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t requested_ = 0;
  std::int64_t peak_allocated_ = 0;
  std::int64_t peak_reserved_ = 0;
  std::int64_t retries_ = 0;
  std::int64_t out_of_memory_ = 0;
};

}  // namespace trainfit::memory
