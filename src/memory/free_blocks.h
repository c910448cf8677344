// The free blocks of one allocator pool, ordered by size and then by address.
//
// PyTorch keeps them in a std::set (c10/cuda/CUDACachingAllocator.cpp, BlockComparatorSize). Here
// the same order is kept in bins, 32 to each power of two, each a linked list that is sorted: a
// search looks at one bin and then jumps over the empty ones by a bitmap, erasing follows two
// links. Equal sizes of many layers share a bin; training frees them in ascending or descending
// order, so both ends are tried before the list is walked.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainfit::memory {

class FreeBlocks {
 public:
  static constexpr std::int32_t kNone = -1;

  struct Key {
    std::int64_t size = 0;  // a multiple of 512
    std::int64_t address = 0;
    auto operator<=>(const Key&) const = default;
  };

  FreeBlocks();

  bool empty() const { return occupied_words_ == 0; }

  // Blocks are known by small numbers that the caller gives out.
  void Insert(std::int32_t block, const Key& key);
  void Erase(std::int32_t block);

  const Key& KeyOf(std::int32_t block) const { return At(block).key; }
  // The first block whose size is not below `size`; kNone if all are.
  std::int32_t LowerBound(std::int64_t size) const;
  std::int32_t First() const;
  std::int32_t Last() const;
  std::int32_t Next(std::int32_t block) const;  // kNone at the end

 private:
  static constexpr std::size_t kBins = 1024;
  static constexpr std::size_t kWordBits = 64;

  struct Node {
    Key key;
    std::int32_t previous = kNone;  // in the bin
    std::int32_t next = kNone;
  };
  struct Bin {
    std::int32_t first = kNone;
    std::int32_t last = kNone;
  };

  static std::size_t BinOf(std::int64_t size);
  Node& At(std::int32_t block) { return nodes_[static_cast<std::size_t>(block)]; }
  const Node& At(std::int32_t block) const { return nodes_[static_cast<std::size_t>(block)]; }
  void Link(Bin& bin, std::int32_t before, std::int32_t block, std::int32_t after);
  std::int32_t FirstFrom(std::size_t bin) const;  // in this bin or a later one

  std::array<Bin, kBins> bins_;
  std::array<std::uint64_t, kBins / kWordBits> occupied_ = {};  // a bit for each bin
  std::uint32_t occupied_words_ = 0;                            // a bit for each word that is not 0
  std::vector<Node> nodes_;                                     // by block
};

}  // namespace trainfit::memory
