#include "memory/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "memory/allocator_constants.h"
#include "memory/segment_size.h"

namespace trainfit::memory {
namespace {

constexpr std::size_t kReservedBlocks = 16384;  // a 70B step without a further heap allocation

// roundup_power2_next_division: up to the next of `divisions` equal steps between powers of two.
std::int64_t NextDivision(std::int64_t size, std::int64_t divisions) {
  const auto bits = static_cast<std::uint64_t>(size);
  if (std::has_single_bit(bits)) return size;
  const auto floor = static_cast<std::int64_t>(std::bit_floor(bits));
  const std::int64_t step = floor >> (std::bit_width(static_cast<std::uint64_t>(divisions)) - 1);
  return step == 0 ? 2 * floor : RoundUp(size, step);
}

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorSettings& settings)
    : settings_(settings),
      max_split_size_(settings.max_split_size ? settings.max_split_size->value()
                                              : std::numeric_limits<std::int64_t>::max()) {
  blocks_.reserve(kReservedBlocks);
  unused_blocks_.reserve(kReservedBlocks);
  for (std::size_t i = 0; i < pools_.size(); ++i) pools_[i].small = i % 2 == 0;
}

// Sizes and pools.

std::int64_t CachingAllocator::RoundSize(std::int64_t requested) const {
  if (requested < kMinBlockSize) return kMinBlockSize;
  const int log_mib = std::bit_width(static_cast<std::uint64_t>(requested)) - 1 - 20;
  const int interval =
      std::clamp(log_mib, 0, static_cast<int>(AllocatorSettings::kRoundupIntervals) - 1);
  const std::int64_t divisions =
      settings_.roundup_power2_divisions[static_cast<std::size_t>(interval)];
  if (divisions > 1 && requested > kMinBlockSize * divisions) {
    return NextDivision(requested, divisions);
  }
  return RoundUp(requested, kMinBlockSize);
}

Bytes CachingAllocator::RoundedSize(Bytes requested) const {
  return Bytes(RoundSize(requested.value()));
}

std::uint8_t CachingAllocator::PoolIndex(std::int64_t size, program::Stream stream) const {
  const int large = size <= kSmallSize ? 0 : 1;
  return static_cast<std::uint8_t>(2 * static_cast<int>(stream) + large);
}

bool CachingAllocator::CollectsGarbage() const {
  return settings_.memory_limit.has_value() && settings_.garbage_collection_threshold > 0;
}

// Blocks.

std::int32_t CachingAllocator::NewBlock(std::uint8_t pool, std::int64_t address,
                                        std::int64_t size) {
  std::int32_t id = kNone;
  if (unused_blocks_.empty()) {
    id = static_cast<std::int32_t>(blocks_.size());
    blocks_.emplace_back();
  } else {
    id = unused_blocks_.back();
    unused_blocks_.pop_back();
    At(id) = Block();
  }
  Block& block = At(id);
  block.pool = pool;
  block.address = address;
  block.size = size;
  return id;
}

void CachingAllocator::DeleteBlock(std::int32_t block) {
  At(block).pool = kNoPool;
  unused_blocks_.push_back(block);
}

void CachingAllocator::InsertFree(std::int32_t id) {
  Block& block = At(id);
  block.age_base = searches_[static_cast<std::size_t>(block.pool % 2)];
  PoolOf(block).free.Insert(id, {block.size, block.address});
}

void CachingAllocator::EraseFree(std::int32_t id) { PoolOf(At(id)).free.Erase(id); }

void CachingAllocator::AddReserved(std::int64_t size) {
  reserved_ += size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

bool CachingAllocator::DeviceHolds(std::int64_t size) const {
  return !settings_.capacity || reserved_ + size <= settings_.capacity->value();
}

void CachingAllocator::ResetPeaks() {
  peak_allocated_ = allocated_;
  peak_reserved_ = reserved_;
}

// Allocate and free.

CachingAllocator::BlockId CachingAllocator::Allocate(Bytes requested, program::Stream stream) {
  CHECK(requested >= Bytes()) << "a tensor cannot have " << requested.value() << " bytes";
  const std::int64_t size = RoundSize(requested.value());
  const std::uint8_t pool = PoolIndex(size, stream);
  std::int32_t id = GetFreeBlock(pool, size);
  if (id == kNone) {
    if (CollectsGarbage()) GarbageCollect();
    id = AllocBlock(pool, size);
    if (id == kNone && ReleaseAvailableCachedBlocks(pool, size)) id = AllocBlock(pool, size);
    if (id == kNone) {
      ReleaseCachedBlocks();
      ++retries_;
      id = AllocBlock(pool, size);
    }
  }
  if (id == kNone) {
    ++out_of_memory_;
    return kOutOfMemory;
  }
  if (ShouldSplit(At(id), size)) id = SplitBlock(id, size);
  Block& block = At(id);
  block.allocated = true;
  block.requested = requested.value();
  requested_ += block.requested;
  allocated_ += block.size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return id;
}

void CachingAllocator::Free(BlockId id) {
  CHECK(id >= 0 && id < static_cast<BlockId>(blocks_.size()) && At(id).allocated)
      << "block " << id << " is freed but not allocated";
  Block& block = At(id);
  block.allocated = false;
  allocated_ -= block.size;
  requested_ -= block.requested;
  block.requested = 0;
  TryMerge(id, block.previous);
  TryMerge(id, block.next);
  InsertFree(id);
}

// Takes a block out of the pool's free list; its size may be above `size`.
std::int32_t CachingAllocator::GetFreeBlock(std::uint8_t pool_index, std::int64_t size) {
  Pool& pool = pools_[static_cast<std::size_t>(pool_index)];
  if (CollectsGarbage()) ++searches_[static_cast<std::size_t>(pool_index % 2)];
  std::int32_t id = pool.free.LowerBound(size);
  if (id == kNone) return kNone;
  if (settings_.expandable_segments) {
    // A block that can still grow counts with the size it can grow to, so that the tail of the
    // segment is not used while a larger, closed block would do.
    for (std::int32_t next = pool.free.Next(id);
         next != kNone && At(id).expandable && ExpandableSize(At(next)) < ExpandableSize(At(id));
         next = pool.free.Next(next)) {
      id = next;
    }
  }
  const std::int64_t found = At(id).size;
  // Blocks of max_split_size and above are kept for requests that (nearly) fill them.
  if (size < MaxSplitSize() && found >= MaxSplitSize()) return kNone;
  if (size >= MaxSplitSize() && found >= size + settings_.max_non_split_rounding.value()) {
    return kNone;
  }
  pool.free.Erase(id);
  return id;
}

// A new segment (or a grown one), not yet split, out of the free list.
std::int32_t CachingAllocator::AllocBlock(std::uint8_t pool, std::int64_t size) {
  const std::int64_t segment = SegmentSize(size);
  if (settings_.memory_limit && reserved_ + segment > settings_.memory_limit->value()) {
    return kNone;
  }
  if (settings_.expandable_segments) return TryAllocateExpandable(pool, size);
  if (!DeviceHolds(segment)) return kNone;
  AddReserved(segment);
  const std::int32_t id = NewBlock(pool, next_address_, segment);
  next_address_ += segment;
  return id;
}

bool CachingAllocator::ShouldSplit(const Block& block, std::int64_t size) const {
  const std::int64_t remaining = block.size - size;
  if (block.pool % 2 == 0 || settings_.expandable_segments) return remaining >= kMinBlockSize;
  return size < MaxSplitSize() && remaining > kSmallSize;
}

// Cuts `size` bytes off the front and returns them; the rest becomes a free block.
std::int32_t CachingAllocator::SplitBlock(std::int32_t rest_id, std::int64_t size) {
  const std::int32_t id = NewBlock(At(rest_id).pool, At(rest_id).address, size);
  Block& block = At(id);
  Block& rest = At(rest_id);
  block.expandable = rest.expandable;
  block.previous = rest.previous;
  if (block.previous != kNone) At(block.previous).next = id;
  block.next = rest_id;
  rest.previous = id;
  rest.address += size;
  rest.size -= size;
  InsertFree(rest_id);
  return id;
}

// Joins a free neighbour into `into`, which is in no list itself. Returns the bytes gained.
std::int64_t CachingAllocator::TryMerge(std::int32_t into_id, std::int32_t from_id) {
  if (from_id == kNone) return 0;
  Block& into = At(into_id);
  const Block& from = At(from_id);
  if (from.allocated || from.mapped != into.mapped) return 0;
  if (from.mapped) {
    EraseFree(from_id);
  } else {
    EraseUnmapped(from_id);
  }
  if (into.previous == from_id) {
    into.address = from.address;
    into.previous = from.previous;
    if (into.previous != kNone) At(into.previous).next = into_id;
  } else {
    into.next = from.next;
    if (into.next != kNone) At(into.next).previous = into_id;
  }
  into.size += from.size;
  DeleteBlock(from_id);
  return from.size;
}

// Giving memory back.

// Frees unsplit large blocks that were passed over longer than the average, until `reserved` is
// below the threshold or nothing more can go.
void CachingAllocator::GarbageCollect() {
  const auto threshold =
      static_cast<std::int64_t>(settings_.garbage_collection_threshold *
                                static_cast<double>(settings_.memory_limit->value()));
  if (reserved_ <= threshold) return;
  const std::int64_t target = reserved_ - threshold;
  scratch_.clear();
  std::int64_t total_age = 0;
  for (std::size_t i = 1; i < pools_.size(); i += 2) {
    const FreeBlocks& free = pools_[i].free;
    for (std::int32_t id = free.First(); id != kNone; id = free.Next(id)) {
      const Block& block = At(id);
      if (block.previous != kNone || block.next != kNone) continue;
      total_age += searches_[1] - block.age_base;
      scratch_.push_back(id);
    }
  }
  std::int64_t reclaimed = 0;
  bool freed = true;
  while (reclaimed < target && freed && !scratch_.empty()) {
    const double limit = static_cast<double>(total_age) / static_cast<double>(scratch_.size());
    freed = false;
    std::erase_if(scratch_, [&](std::int32_t id) {
      const std::int64_t age = searches_[1] - At(id).age_base;
      if (static_cast<double>(age) < limit) return false;
      freed = true;
      reclaimed += At(id).size;
      total_age -= age;
      ReleaseBlock(id);
      return true;
    });
  }
}

// With a max_split_size: frees the smallest oversize block that would do, or else the largest ones
// until they sum to the request. True when the request may now fit.
bool CachingAllocator::ReleaseAvailableCachedBlocks(std::uint8_t pool, std::int64_t size) {
  if (!settings_.max_split_size) return false;
  FreeBlocks& free = pools_[static_cast<std::size_t>(pool)].free;
  const std::int64_t wanted = std::max(size, MaxSplitSize());
  if (const std::int32_t found = free.LowerBound(wanted); found != kNone) {
    if (At(found).expandable) return false;  // torch asserts; there is nothing to give back
    ReleaseBlock(found);
    return true;
  }
  std::int64_t released = 0;
  while (released < wanted && !free.empty()) {
    const std::int32_t largest = free.Last();
    if (At(largest).size < MaxSplitSize() || At(largest).expandable) break;
    released += At(largest).size;
    ReleaseBlock(largest);
  }
  return released >= wanted;
}

void CachingAllocator::ReleaseCachedBlocks() {
  for (Pool& pool : pools_) ReleaseBlocks(pool);
}

void CachingAllocator::EmptyCache() { ReleaseCachedBlocks(); }

// All wholly free segments of a pool, and the free pages of its expandable segments.
void CachingAllocator::ReleaseBlocks(Pool& pool) {
  scratch_.clear();
  for (std::int32_t id = pool.free.First(); id != kNone; id = pool.free.Next(id)) {
    scratch_.push_back(id);
  }
  for (const std::int32_t id : scratch_) {
    const Block& block = At(id);
    if (block.expandable) {
      UnmapBlock(id);
    } else if (block.previous == kNone && block.next == kNone) {
      ReleaseBlock(id);
    }
  }
}

void CachingAllocator::ReleaseBlock(std::int32_t id) {
  CHECK(At(id).previous == kNone && At(id).next == kNone)
      << "a block in the middle of a segment cannot go back to the device";
  reserved_ -= At(id).size;
  EraseFree(id);
  DeleteBlock(id);
}

// A look inside.

std::vector<CachingAllocator::SegmentView> CachingAllocator::Segments() const {
  std::vector<std::int32_t> heads;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const bool starts = block.previous == kNone || !At(block.previous).mapped;
    if (block.pool != kNoPool && block.mapped && starts)
      heads.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(heads.begin(), heads.end(),
            [&](std::int32_t a, std::int32_t b) { return At(a).address < At(b).address; });
  std::vector<SegmentView> segments;
  for (const std::int32_t head : heads) {
    SegmentView& segment = segments.emplace_back();
    segment.stream = static_cast<program::Stream>(At(head).pool / 2);
    segment.small = At(head).pool % 2 == 0;
    for (std::int32_t id = head; id != kNone && At(id).mapped; id = At(id).next) {
      const Block& block = At(id);
      segment.size += Bytes(block.size);
      segment.blocks.push_back({Bytes(block.size), Bytes(block.requested), block.allocated});
    }
  }
  return segments;
}

}  // namespace trainfit::memory
