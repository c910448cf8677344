#include "memory/free_blocks.h"

#include <algorithm>
#include <bit>

#include "memory/allocator_constants.h"

namespace trainfit::memory {
namespace {

constexpr int kStepBits = 5;  // 32 bins between two powers of two

}  // namespace

FreeBlocks::FreeBlocks() = default;

// Monotone in size: up to 16 KiB a bin for each size, then the five bits behind the leading one.
// Whatever is above 2 TiB shares the last bin.
std::size_t FreeBlocks::BinOf(std::int64_t size) {
  const auto units = static_cast<std::uint64_t>(size) / kMinBlockSize;
  const int width = std::bit_width(units);
  if (width <= kStepBits) return static_cast<std::size_t>(units);
  const int shift = width - 1 - kStepBits;
  const std::uint64_t bin = (static_cast<std::uint64_t>(shift) << kStepBits) + (units >> shift);
  return std::min<std::size_t>(bin, kBins - 1);
}

void FreeBlocks::Link(Bin& bin, std::int32_t before, std::int32_t block, std::int32_t after) {
  At(block).previous = before;
  At(block).next = after;
  (before == kNone ? bin.first : At(before).next) = block;
  (after == kNone ? bin.last : At(after).previous) = block;
}

void FreeBlocks::Insert(std::int32_t block, const Key& key) {
  if (static_cast<std::size_t>(block) >= nodes_.size()) {
    nodes_.resize(std::max<std::size_t>(2 * nodes_.size(), static_cast<std::size_t>(block) + 64));
  }
  At(block).key = key;
  const std::size_t index = BinOf(key.size);
  Bin& bin = bins_[index];
  if (bin.first == kNone) {
    occupied_[index / kWordBits] |= std::uint64_t{1} << (index % kWordBits);
    occupied_words_ |= std::uint32_t{1} << (index / kWordBits);
    Link(bin, kNone, block, kNone);
  } else if (At(bin.last).key < key) {
    Link(bin, bin.last, block, kNone);
  } else {
    std::int32_t after = bin.first;
    while (At(after).key < key) after = At(after).next;
    Link(bin, At(after).previous, block, after);
  }
}

void FreeBlocks::Erase(std::int32_t block) {
  const Node& node = At(block);
  const std::size_t index = BinOf(node.key.size);
  Bin& bin = bins_[index];
  (node.previous == kNone ? bin.first : At(node.previous).next) = node.next;
  (node.next == kNone ? bin.last : At(node.next).previous) = node.previous;
  if (bin.first != kNone) return;
  std::uint64_t& word = occupied_[index / kWordBits];
  word &= ~(std::uint64_t{1} << (index % kWordBits));
  if (word == 0) occupied_words_ &= ~(std::uint32_t{1} << (index / kWordBits));
}

std::int32_t FreeBlocks::FirstFrom(std::size_t bin) const {
  if (bin >= kBins) return kNone;
  std::size_t word = bin / kWordBits;
  std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << (bin % kWordBits));
  if (bits == 0) {
    const std::uint32_t later = occupied_words_ & (~std::uint32_t{1} << word);
    if (later == 0) return kNone;
    word = static_cast<std::size_t>(std::countr_zero(later));
    bits = occupied_[word];
  }
  return bins_[word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))].first;
}

std::int32_t FreeBlocks::LowerBound(std::int64_t size) const {
  const std::size_t bin = BinOf(size);
  // Sizes of one bin differ by up to 3 %: the wanted one may not be the first.
  if (bins_[bin].first != kNone && At(bins_[bin].last).key.size >= size) {
    std::int32_t block = bins_[bin].first;
    while (At(block).key.size < size) block = At(block).next;
    return block;
  }
  return FirstFrom(bin + 1);
}

std::int32_t FreeBlocks::First() const { return FirstFrom(0); }

std::int32_t FreeBlocks::Last() const {
  if (empty()) return kNone;
  const auto word = static_cast<std::size_t>(std::bit_width(occupied_words_) - 1);
  const auto bit = static_cast<std::size_t>(std::bit_width(occupied_[word]) - 1);
  return bins_[word * kWordBits + bit].last;
}

std::int32_t FreeBlocks::Next(std::int32_t block) const {
  const Node& node = At(block);
  return node.next != kNone ? node.next : FirstFrom(BinOf(node.key.size) + 1);
}

}  // namespace trainfit::memory
