// The caching allocator once more, for tests alone: segments are plain lists of blocks, every
// search looks at everything. Slow, short, and written from the rules rather than for speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace trainfit::memory {

class ReferenceAllocator {
 public:
  ReferenceAllocator(std::optional<std::int64_t> max_split, std::optional<std::int64_t> capacity)
      : max_split_(max_split.value_or(INT64_MAX)), capacity_(capacity.value_or(INT64_MAX)) {}

  // False: out of memory.
  bool Allocate(int handle, std::int64_t requested, int stream) {
    const std::int64_t size = std::max<std::int64_t>(512, (requested + 511) / 512 * 512);
    const std::int64_t wanted = size <= kMiB       ? 2 * kMiB
                                : size < 10 * kMiB ? 20 * kMiB
                                                   : (size + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
    if (TakeBestFit(handle, size, stream)) return true;
    const auto full = [&] { return Reserved() + wanted > capacity_; };
    // The device is asked again only when the oversize blocks alone were as large as the request.
    if (full() && !(ReleaseOversize(size, stream) && !full())) ReleaseAll();
    if (full()) return false;
    segments_.push_back({stream, size <= kMiB, {{wanted, -1}}});
    Take(handle, size, std::prev(segments_.end()), segments_.back().blocks.begin());
    return true;
  }

  void Free(int handle) {
    for (Segment& segment : segments_) {
      for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block) {
        if (block->handle != handle) continue;
        block->handle = -1;
        const auto next = std::next(block);
        if (next != segment.blocks.end() && next->handle < 0) {
          block->size += next->size;
          segment.blocks.erase(next);
        }
        if (block != segment.blocks.begin() && std::prev(block)->handle < 0) {
          std::prev(block)->size += block->size;
          segment.blocks.erase(block);
        }
        return;
      }
    }
  }

  void ReleaseAll() {
    std::erase_if(segments_, [](const Segment& s) {
      return s.blocks.size() == 1 && s.blocks.front().handle < 0;
    });
  }

  std::int64_t Reserved() const { return Sum(true); }
  std::int64_t Allocated() const { return Sum(false); }

  // (size, allocated) of all blocks, segment by segment.
  std::vector<std::vector<std::pair<std::int64_t, bool>>> Layout() const {
    std::vector<std::vector<std::pair<std::int64_t, bool>>> layout;
    for (const Segment& segment : segments_) {
      auto& blocks = layout.emplace_back();
      for (const Block& block : segment.blocks) blocks.push_back({block.size, block.handle >= 0});
    }
    return layout;
  }

 private:
  static constexpr std::int64_t kMiB = 1 << 20;
  struct Block {
    std::int64_t size;
    int handle;  // -1: free
  };
  struct Segment {
    int stream;
    bool small;
    std::list<Block> blocks;
  };
  using Segments = std::list<Segment>;

  std::int64_t Sum(bool free_as_well) const {
    std::int64_t sum = 0;
    for (const Segment& segment : segments_) {
      for (const Block& block : segment.blocks) {
        if (free_as_well || block.handle >= 0) sum += block.size;
      }
    }
    return sum;
  }

  bool TakeBestFit(int handle, std::int64_t size, int stream) {
    Segments::iterator best_segment;
    std::list<Block>::iterator best;
    std::int64_t best_size = INT64_MAX;
    for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
      if (segment->stream != stream || segment->small != (size <= kMiB)) continue;
      for (auto block = segment->blocks.begin(); block != segment->blocks.end(); ++block) {
        if (block->handle >= 0 || block->size < size || block->size >= best_size) continue;
        best_size = block->size;
        best_segment = segment;
        best = block;
      }
    }
    if (best_size == INT64_MAX) return false;
    if (size < max_split_ && best_size >= max_split_) return false;
    if (size >= max_split_ && best_size >= size + 20 * kMiB) return false;
    Take(handle, size, best_segment, best);
    return true;
  }

  void Take(int handle, std::int64_t size, Segments::iterator segment,
            std::list<Block>::iterator block) {
    const std::int64_t rest = block->size - size;
    const bool split = segment->small ? rest >= 512 : size < max_split_ && rest > kMiB;
    if (split) {
      block->size = size;
      segment->blocks.insert(std::next(block), {rest, -1});
    }
    block->handle = handle;
  }

  // With max_split_size: the smallest free oversize block that would do, else the largest ones.
  bool ReleaseOversize(std::int64_t size, int stream) {
    if (max_split_ == INT64_MAX) return false;
    const std::int64_t wanted = std::max(size, max_split_);
    std::vector<std::pair<std::int64_t, Segments::iterator>> oversize;  // by size, then address
    for (auto it = segments_.begin(); it != segments_.end(); ++it) {
      const bool whole = it->blocks.size() == 1 && it->blocks.front().handle < 0;
      if (it->stream != stream || it->small != (size <= kMiB) || !whole) continue;
      const std::int64_t bytes = it->blocks.front().size;
      if (bytes < max_split_) continue;
      const auto larger = std::find_if(oversize.begin(), oversize.end(),
                                       [&](const auto& other) { return other.first > bytes; });
      oversize.insert(larger, {bytes, it});
    }
    for (const auto& [bytes, it] : oversize) {
      if (bytes < wanted) continue;
      segments_.erase(it);
      return true;
    }
    std::int64_t released = 0;
    while (!oversize.empty() && released < wanted) {
      released += oversize.back().first;
      segments_.erase(oversize.back().second);
      oversize.pop_back();
    }
    return released >= wanted;
  }

  std::int64_t max_split_;
  std::int64_t capacity_;
  Segments segments_;  // in the order of their creation, which is the order of their addresses
};

}  // namespace trainfit::memory
