// expandable_segments:True (c10/cuda/CUDACachingAllocator.cpp, Note [Expandable Segments]): one
// segment per stream and pool that grows by mapping pages, 2 MiB in the small pool and 20 MiB in
// the large one. A segment is a chain of blocks: allocated, free (mapped), unmapped address space.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "memory/allocator_constants.h"
#include "memory/caching_allocator.h"

namespace trainfit::memory {
namespace {

// PyTorch reserves addresses for 9/8 of the device. Without a known device: more than any has.
constexpr std::int64_t kUnknownDevice = std::int64_t{1} << 42;

std::int64_t PageSize(bool small) { return small ? kSmallBuffer : kLargeBuffer; }

}  // namespace

// The size a block can grow to without moving: itself and the unmapped space behind it.
std::int64_t CachingAllocator::ExpandableSize(const Block& block) const {
  if (block.next == kNone || At(block.next).mapped) return block.size;
  return block.size + At(block.next).size;
}

void CachingAllocator::InsertUnmapped(std::int32_t id) {
  std::vector<std::int32_t>& list = PoolOf(At(id)).unmapped;
  const auto at = std::lower_bound(
      list.begin(), list.end(), At(id).address,
      [&](std::int32_t other, std::int64_t address) { return At(other).address < address; });
  list.insert(at, id);
}

void CachingAllocator::EraseUnmapped(std::int32_t id) {
  std::vector<std::int32_t>& list = PoolOf(At(id)).unmapped;
  list.erase(std::find(list.begin(), list.end(), id));
}

bool CachingAllocator::HasAddressSpace(std::int32_t id, std::int64_t size) const {
  std::int64_t bytes = 0;
  while (bytes < size && id != kNone && !At(id).allocated) {
    bytes += At(id).size;
    id = At(id).next;
  }
  return bytes >= size;
}

// The lowest free or unmapped block from which `size` bytes of address space follow.
std::int32_t CachingAllocator::FindExpandable(std::uint8_t pool_index, std::int64_t size) {
  Pool& pool = pools_[static_cast<std::size_t>(pool_index)];
  for (std::int32_t id : pool.unmapped) {
    const std::int32_t before = At(id).previous;
    if (before != kNone && !At(before).allocated) id = before;
    if (HasAddressSpace(id, size)) return id;
  }
  const std::int64_t device = settings_.capacity ? settings_.capacity->value() : kUnknownDevice;
  const std::int64_t space = RoundUp(device + device / 8, PageSize(pool.small));
  next_address_ = RoundUp(next_address_, kLargeBuffer);  // pages of both kinds are aligned
  const std::int32_t id = NewBlock(pool_index, next_address_, space);
  next_address_ += space;
  At(id).mapped = false;
  At(id).expandable = true;
  InsertUnmapped(id);
  return id;
}

// Maps pages for the first `size` bytes of an unmapped block and joins them with free neighbours.
bool CachingAllocator::MapBlock(std::int32_t id, std::int64_t size) {
  Pool& pool = PoolOf(At(id));
  const std::int64_t mapped = RoundUp(size, PageSize(pool.small));
  if (!DeviceHolds(mapped)) return false;
  EraseUnmapped(id);
  At(id).mapped = true;
  if (mapped < At(id).size) {
    const std::int32_t rest_id =
        NewBlock(At(id).pool, At(id).address + mapped, At(id).size - mapped);
    Block& rest = At(rest_id);
    Block& block = At(id);
    rest.mapped = false;
    rest.expandable = true;
    rest.previous = id;
    rest.next = block.next;
    if (rest.next != kNone) At(rest.next).previous = rest_id;
    block.next = rest_id;
    block.size = mapped;
    InsertUnmapped(rest_id);
  }
  TryMerge(id, At(id).previous);
  TryMerge(id, At(id).next);
  InsertFree(id);
  AddReserved(mapped);
  return true;
}

std::int32_t CachingAllocator::TryAllocateExpandable(std::uint8_t pool, std::int64_t size) {
  std::int32_t id = FindExpandable(pool, size);
  if (!At(id).mapped && !MapBlock(id, std::min(At(id).size, size))) return kNone;
  while (At(id).size < size) {
    // What follows is unmapped: mapping it swallows the free block before it.
    const std::int32_t next = At(id).next;
    if (!MapBlock(next, std::min(size - At(id).size, At(next).size))) return kNone;
    id = next;
  }
  EraseFree(id);
  return id;
}

// Gives back the pages that lie wholly inside a free block.
void CachingAllocator::UnmapBlock(std::int32_t id) {
  const std::int64_t page = PageSize(PoolOf(At(id)).small);
  const std::int64_t begin = RoundUp(At(id).address, page);
  const std::int64_t end = (At(id).address + At(id).size) / page * page;
  if (begin >= end) return;
  EraseFree(id);
  if (const std::int64_t before = begin - At(id).address; before > 0) {
    const std::int32_t head = NewBlock(At(id).pool, At(id).address, before);
    At(head).expandable = true;
    At(head).previous = At(id).previous;
    At(head).next = id;
    if (At(head).previous != kNone) At(At(head).previous).next = head;
    At(id).previous = head;
    InsertFree(head);
  }
  if (const std::int64_t after = At(id).address + At(id).size - end; after > 0) {
    const std::int32_t tail = NewBlock(At(id).pool, end, after);
    At(tail).expandable = true;
    At(tail).previous = id;
    At(tail).next = At(id).next;
    if (At(tail).next != kNone) At(At(tail).next).previous = tail;
    At(id).next = tail;
    InsertFree(tail);
  }
  At(id).address = begin;
  At(id).size = end - begin;
  At(id).mapped = false;
  reserved_ -= end - begin;
  TryMerge(id, At(id).previous);
  TryMerge(id, At(id).next);
  if (At(id).previous == kNone && At(id).next == kNone) {
    DeleteBlock(id);  // the whole segment is empty: its addresses go back as well
    return;
  }
  InsertUnmapped(id);
}

}  // namespace trainfit::memory
