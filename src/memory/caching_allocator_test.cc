#include "memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "memory/reference_allocator.h"

namespace trainfit::memory {
namespace {

using program::Stream;
using BlockId = CachingAllocator::BlockId;

// "20971520: 1049088* 19922432": blocks of each segment in order, allocated ones starred.
std::string Layout(const CachingAllocator& allocator) {
  std::string text;
  for (const auto& segment : allocator.Segments()) {
    text += text.empty() ? "" : " | ";
    text += std::to_string(segment.size.value()) + ":";
    for (const auto& block : segment.blocks) {
      text += " " + std::to_string(block.size.value()) + (block.allocated ? "*" : "");
    }
  }
  return text;
}

TEST(CachingAllocator, WorkedCaseOfTheNotes) {
  CachingAllocator allocator;
  std::int64_t requested = 0;
  for (const std::int64_t bytes : {1, 1'048'577, 10'485'760, 15'000'000, 16'000'000}) {
    allocator.Allocate(Bytes(bytes));
    requested += bytes;
  }
  EXPECT_EQ(Layout(allocator),
            "2097152: 512* 2096640 | "
            "20971520: 1049088* 10485760* 9436672 | "
            "16777216: 15000064* 1777152 | "
            "16777216: 16777216*");
  EXPECT_EQ(allocator.allocated(), Bytes(43'312'640));
  EXPECT_EQ(allocator.reserved(), Bytes(56'623'104));
  EXPECT_EQ(allocator.requested(), Bytes(42'534'338));
  EXPECT_EQ(requested, 42'534'338);
}

TEST(CachingAllocator, SizesAreRoundedTo512) {
  const CachingAllocator allocator;
  EXPECT_EQ(allocator.RoundedSize(Bytes(0)), Bytes(512));
  EXPECT_EQ(allocator.RoundedSize(Bytes(512)), Bytes(512));
  EXPECT_EQ(allocator.RoundedSize(Bytes(513)), Bytes(1024));
}

TEST(CachingAllocator, SegmentSizesAtTheirBoundaries) {
  const auto segment_for = [](std::int64_t bytes) {
    CachingAllocator allocator;
    allocator.Allocate(Bytes(bytes));
    return allocator.reserved().value();
  };
  EXPECT_EQ(segment_for(1'048'576), 2'097'152);
  EXPECT_EQ(segment_for(1'048'577), 20'971'520);
  EXPECT_EQ(segment_for(10'485'759 - 511), 20'971'520);
  EXPECT_EQ(segment_for(10'485'760), 10'485'760);
  EXPECT_EQ(segment_for(10'485'761), 12'582'912);
}

TEST(CachingAllocator, LargeRemaindersAreKeptFromOneMebibyte) {
  CachingAllocator allocator;
  allocator.Allocate(20 * kMiB - 1 * kMiB);  // remainder of exactly 1 MiB: not split
  EXPECT_EQ(allocator.allocated(), 20 * kMiB);
  CachingAllocator other;
  other.Allocate(20 * kMiB - 1 * kMiB - Bytes(512));
  EXPECT_EQ(other.allocated(), 19 * kMiB - Bytes(512));
}

TEST(CachingAllocator, SmallPoolSplitsDownTo512) {
  CachingAllocator allocator;
  allocator.Allocate(1 * kMiB);
  allocator.Allocate(1 * kMiB - Bytes(512));
  EXPECT_EQ(Layout(allocator), "2097152: 1048576* 1048064* 512");
}

TEST(CachingAllocator, FreedNeighboursMergeInAnyOrder) {
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    CachingAllocator allocator;
    std::vector<BlockId> blocks(3);
    for (BlockId& block : blocks) block = allocator.Allocate(4 * kMiB);
    EXPECT_EQ(allocator.reserved(), 20 * kMiB);
    for (const int i : order) allocator.Free(blocks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(Layout(allocator), "20971520: 20971520");
    EXPECT_EQ(allocator.allocated(), Bytes());
  }
}

TEST(CachingAllocator, SegmentsDoNotMergeWithEachOther) {
  CachingAllocator allocator;
  const BlockId a = allocator.Allocate(12 * kMiB);
  const BlockId b = allocator.Allocate(12 * kMiB);
  allocator.Free(a);
  allocator.Free(b);
  allocator.Allocate(24 * kMiB);
  EXPECT_EQ(allocator.reserved(), 48 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatHolds) {
  CachingAllocator allocator;
  const BlockId large = allocator.Allocate(40 * kMiB);
  const BlockId fitting = allocator.Allocate(30 * kMiB);
  allocator.Free(large);
  allocator.Free(fitting);
  allocator.Allocate(28 * kMiB);
  EXPECT_EQ(Layout(allocator), "41943040: 41943040 | 31457280: 29360128* 2097152");
}

TEST(CachingAllocator, EqualBlocksGoByAddress) {
  CachingAllocator allocator;
  const BlockId first = allocator.Allocate(12 * kMiB);
  const BlockId second = allocator.Allocate(12 * kMiB);
  allocator.Free(second);
  allocator.Free(first);
  allocator.Allocate(12 * kMiB);
  EXPECT_EQ(Layout(allocator), "12582912: 12582912* | 12582912: 12582912");
}

TEST(CachingAllocator, StreamsDoNotShareBlocks) {
  CachingAllocator allocator;
  const BlockId gathered = allocator.Allocate(100 * kMiB, Stream::kAllGather);
  allocator.Free(gathered);
  allocator.Allocate(100 * kMiB, Stream::kCompute);
  EXPECT_EQ(allocator.reserved(), 200 * kMiB);
  allocator.Allocate(100 * kMiB, Stream::kAllGather);  // its own stream takes it back
  EXPECT_EQ(allocator.reserved(), 200 * kMiB);
}

TEST(CachingAllocator, PeaksStartAgainWhenReset) {
  CachingAllocator allocator;
  allocator.Free(allocator.Allocate(64 * kMiB));
  EXPECT_EQ(allocator.peak_allocated(), 64 * kMiB);
  allocator.ResetPeaks();
  EXPECT_EQ(allocator.peak_allocated(), Bytes());
  EXPECT_EQ(allocator.peak_reserved(), 64 * kMiB);  // cached segments are still reserved
}

// Settings.

TEST(CachingAllocator, MaxSplitSizeKeepsOversizeBlocksWhole) {
  CachingAllocator allocator({.max_split_size = 100 * kMiB});
  allocator.Free(allocator.Allocate(200 * kMiB));
  allocator.Allocate(50 * kMiB);  // may not cut the 200 MiB block
  EXPECT_EQ(allocator.reserved(), 250 * kMiB);
  allocator.Allocate(170 * kMiB);  // would leave 30 MiB > 20 MiB: a segment of its own
  EXPECT_EQ(allocator.reserved(), 420 * kMiB);
  allocator.Allocate(190 * kMiB);  // within 20 MiB: takes all of it
  EXPECT_EQ(allocator.reserved(), 420 * kMiB);
  EXPECT_EQ(allocator.allocated(), 420 * kMiB);
}

TEST(CachingAllocator, RoundupPower2Divisions) {
  AllocatorSettings settings;
  settings.roundup_power2_divisions.fill(4);
  const CachingAllocator allocator(settings);
  // Between 1024 and 2048 MiB the steps are 256 MiB.
  EXPECT_EQ(allocator.RoundedSize(1200 * kMiB), 1280 * kMiB);
  EXPECT_EQ(allocator.RoundedSize(1280 * kMiB), 1280 * kMiB);
  EXPECT_EQ(allocator.RoundedSize(2048 * kMiB), 2048 * kMiB);
  EXPECT_EQ(allocator.RoundedSize(2000 * kMiB), 2048 * kMiB);
  EXPECT_EQ(allocator.RoundedSize(Bytes(2048)), Bytes(2048));  // too small for divisions
  EXPECT_EQ(allocator.RoundedSize(Bytes(2049)), Bytes(2560));
}

TEST(CachingAllocator, RoundupByInterval) {
  AllocatorSettings settings;
  settings.roundup_power2_divisions[10] = 2;  // 1 GiB … 2 GiB
  const CachingAllocator allocator(settings);
  EXPECT_EQ(allocator.RoundedSize(1100 * kMiB), 1536 * kMiB);
  EXPECT_EQ(allocator.RoundedSize(900 * kMiB), 900 * kMiB);
}

TEST(CachingAllocator, GarbageCollectionFreesWhatWasPassedOverLongest) {
  CachingAllocator allocator({.garbage_collection_threshold = 0.6, .memory_limit = 400 * kMiB});
  const BlockId old = allocator.Allocate(100 * kMiB);
  const BlockId young = allocator.Allocate(120 * kMiB);
  allocator.Free(old);
  for (int i = 0; i < 8; ++i) allocator.Free(allocator.Allocate(110 * kMiB));
  allocator.Free(young);
  // 330 MiB are reserved, above 240: the next miss frees the block that is older than average.
  allocator.Allocate(140 * kMiB);
  EXPECT_EQ(Layout(allocator),
            "125829120: 125829120 | 115343360: 115343360 | 146800640: 146800640*");
}

TEST(CachingAllocator, CapacityIsReachedThenCachedSegmentsGo) {
  CachingAllocator allocator({.capacity = 100 * kMiB});
  const BlockId held = allocator.Allocate(40 * kMiB);
  allocator.Free(allocator.Allocate(50 * kMiB));
  EXPECT_EQ(allocator.reserved(), 90 * kMiB);
  EXPECT_GE(allocator.Allocate(60 * kMiB), 0);  // 50 MiB are given back first
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
  EXPECT_EQ(allocator.retries(), 1);
  EXPECT_EQ(allocator.Allocate(12 * kMiB), CachingAllocator::kOutOfMemory);
  EXPECT_EQ(allocator.out_of_memory(), 1);
  allocator.Free(held);
  EXPECT_GE(allocator.Allocate(12 * kMiB), 0);
}

TEST(CachingAllocator, AHalfUsedSegmentCannotBeGivenBack) {
  CachingAllocator allocator({.capacity = 100 * kMiB});
  const BlockId head = allocator.Allocate(60 * kMiB);
  allocator.Free(head);
  allocator.Allocate(16 * kMiB);  // cuts the front off the 60 MiB segment
  EXPECT_EQ(allocator.Allocate(50 * kMiB), CachingAllocator::kOutOfMemory);
  EXPECT_EQ(Layout(allocator), "62914560: 16777216* 46137344");
}

TEST(CachingAllocator, MemoryFractionLimitsLikeACapacity) {
  CachingAllocator allocator({.memory_limit = 50 * kMiB});
  EXPECT_GE(allocator.Allocate(40 * kMiB), 0);
  EXPECT_EQ(allocator.Allocate(20 * kMiB), CachingAllocator::kOutOfMemory);
}

TEST(CachingAllocator, EmptyCacheGivesBackWholeSegments) {
  CachingAllocator allocator;
  allocator.Allocate(4 * kMiB);
  allocator.Free(allocator.Allocate(64 * kMiB));
  allocator.EmptyCache();
  EXPECT_EQ(allocator.reserved(), 20 * kMiB);
}

// Expandable segments.

TEST(ExpandableSegments, GrowByPagesOf20MiB) {
  CachingAllocator allocator({.expandable_segments = true});
  allocator.Allocate(Bytes(15'000'000));
  EXPECT_EQ(Layout(allocator), "20971520: 15000064* 5971456");
  allocator.Allocate(Bytes(16'000'000));  // grows out of the remainder
  EXPECT_EQ(Layout(allocator), "41943040: 15000064* 16000000* 10942976");
  allocator.Allocate(Bytes(1));  // the small pool has its own, with pages of 2 MiB
  EXPECT_EQ(allocator.reserved(), 42 * kMiB);
}

TEST(ExpandableSegments, FreedBlocksServeALargerRequest) {
  CachingAllocator allocator({.expandable_segments = true});
  const BlockId a = allocator.Allocate(100 * kMiB);
  const BlockId b = allocator.Allocate(100 * kMiB);
  allocator.Free(a);
  allocator.Free(b);
  allocator.Allocate(200 * kMiB);  // native segments would need 200 MiB more
  EXPECT_EQ(allocator.reserved(), 200 * kMiB);
  EXPECT_EQ(allocator.peak_reserved(), 200 * kMiB);
}

TEST(ExpandableSegments, TheGrowingEndIsUsedLast) {
  CachingAllocator allocator({.expandable_segments = true});
  const BlockId hole = allocator.Allocate(12 * kMiB);
  allocator.Allocate(5 * kMiB);
  allocator.Free(hole);
  // 3 MiB at the end would fit best, but they can grow: the hole of 12 MiB counts as smaller.
  allocator.Allocate(2 * kMiB);
  EXPECT_EQ(Layout(allocator), "20971520: 2097152* 10485760 5242880* 3145728");
}

TEST(ExpandableSegments, PagesInsideAFreeBlockComeBackWhenTheDeviceIsFull) {
  CachingAllocator allocator({.expandable_segments = true, .capacity = 200 * kMiB});
  const BlockId front = allocator.Allocate(90 * kMiB);
  allocator.Allocate(50 * kMiB);
  allocator.Free(front);  // pages 0 to 3 lie wholly in it, the fifth is shared
  EXPECT_EQ(allocator.reserved(), 140 * kMiB);
  EXPECT_GE(allocator.Allocate(130 * kMiB), 0);
  EXPECT_EQ(allocator.retries(), 1);
  EXPECT_EQ(Layout(allocator), "62914560: 10485760 52428800* | 146800640: 136314880* 10485760");
}

TEST(ExpandableSegments, EmptyCacheLeavesNothingOfAnEmptySegment) {
  CachingAllocator allocator({.expandable_segments = true});
  allocator.Free(allocator.Allocate(90 * kMiB));
  allocator.EmptyCache();
  EXPECT_EQ(allocator.reserved(), Bytes());
  EXPECT_EQ(Layout(allocator), "");
  allocator.Allocate(90 * kMiB);
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
}

TEST(ExpandableSegments, StreamsHaveSegmentsOfTheirOwn) {
  CachingAllocator allocator({.expandable_segments = true});
  allocator.Free(allocator.Allocate(40 * kMiB, Stream::kAllGather));
  allocator.Allocate(40 * kMiB);
  EXPECT_EQ(allocator.reserved(), 80 * kMiB);
}

// Against the reference, and laws.

std::int64_t RandomSize(std::mt19937_64& random) {
  switch (random() % 5) {
    case 0:
      return 1 + static_cast<std::int64_t>(random() % 4096);
    case 1:
      return 1 + static_cast<std::int64_t>(random() % 2'000'000);
    case 2:
      return 1 + static_cast<std::int64_t>(random() % 30'000'000);
    case 3:
      return (1 + static_cast<std::int64_t>(random() % 8)) * 16'777'216;
    default:
      return static_cast<std::int64_t>(random() % 200'000'000);
  }
}

std::vector<std::vector<std::pair<std::int64_t, bool>>> Pairs(const CachingAllocator& allocator) {
  std::vector<std::vector<std::pair<std::int64_t, bool>>> layout;
  for (const auto& segment : allocator.Segments()) {
    auto& blocks = layout.emplace_back();
    for (const auto& block : segment.blocks)
      blocks.push_back({block.size.value(), block.allocated});
  }
  return layout;
}

void CompareWithReference(std::uint64_t seed, std::optional<Bytes> max_split,
                          std::optional<Bytes> capacity) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << (max_split ? ", max_split_size" : "")
                                  << (capacity ? ", capacity" : ""));
  const auto value = [](std::optional<Bytes> bytes) {
    return bytes ? std::optional(bytes->value()) : std::nullopt;
  };
  CachingAllocator allocator({.max_split_size = max_split, .capacity = capacity});
  ReferenceAllocator reference(value(max_split), value(capacity));
  std::mt19937_64 random(seed);
  std::vector<std::pair<BlockId, int>> live;
  for (int i = 0; i < 600; ++i) {
    if (!live.empty() && random() % 100 < 47) {
      const std::size_t victim = random() % live.size();
      allocator.Free(live[victim].first);
      reference.Free(live[victim].second);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      const std::int64_t size = RandomSize(random);
      const int stream = random() % 4 == 0 ? 1 : 0;
      const BlockId id = allocator.Allocate(Bytes(size), static_cast<Stream>(stream));
      const bool fits = reference.Allocate(i, size, stream);
      ASSERT_EQ(id != CachingAllocator::kOutOfMemory, fits) << "request " << i;
      if (fits) live.push_back({id, i});
    }
    ASSERT_EQ(allocator.reserved().value(), reference.Reserved()) << "event " << i;
    ASSERT_EQ(allocator.allocated().value(), reference.Allocated()) << "event " << i;
  }
  EXPECT_EQ(Pairs(allocator), reference.Layout());
  for (const auto& [id, handle] : live) allocator.Free(id);
  EXPECT_EQ(allocator.allocated(), Bytes());
  EXPECT_EQ(allocator.requested(), Bytes());
  allocator.EmptyCache();
  EXPECT_EQ(allocator.reserved(), Bytes());
}

TEST(CachingAllocator, AgreesWithTheReference) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CompareWithReference(seed, std::nullopt, std::nullopt);
    CompareWithReference(seed, std::nullopt, 1500 * kMiB);
    CompareWithReference(seed, 64 * kMiB, std::nullopt);
    CompareWithReference(seed, 64 * kMiB, 1500 * kMiB);
  }
}

// Segments tile: blocks sum to their segment, no two free neighbours, and all to the counters.
void CheckLaws(const CachingAllocator& allocator) {
  Bytes reserved;
  Bytes allocated;
  for (const auto& segment : allocator.Segments()) {
    Bytes sum;
    bool free_before = false;
    for (const auto& block : segment.blocks) {
      sum += block.size;
      if (block.allocated) allocated += block.size;
      EXPECT_FALSE(free_before && !block.allocated) << "free neighbours were not merged";
      free_before = !block.allocated;
    }
    EXPECT_EQ(sum, segment.size);
    reserved += segment.size;
  }
  EXPECT_EQ(reserved, allocator.reserved());
  EXPECT_EQ(allocated, allocator.allocated());
  EXPECT_GE(allocator.reserved(), allocator.allocated());
  EXPECT_GE(allocator.allocated(), allocator.requested());
  EXPECT_GE(allocator.peak_reserved(), allocator.peak_allocated());
}

TEST(CachingAllocator, LawsHoldUnderAllSettings) {
  const std::vector<AllocatorSettings> all = {
      {},
      {.expandable_segments = true},
      {.expandable_segments = true, .capacity = 1200 * kMiB},
      {.max_split_size = 40 * kMiB, .capacity = 1200 * kMiB},
      {.garbage_collection_threshold = 0.6, .memory_limit = 1200 * kMiB},
      {.expandable_segments = true, .max_split_size = 40 * kMiB, .capacity = 1200 * kMiB}};
  for (std::size_t setting = 0; setting < all.size(); ++setting) {
    SCOPED_TRACE(testing::Message() << "setting " << setting);
    CachingAllocator allocator(all[setting]);
    std::mt19937_64 random(setting);
    std::vector<BlockId> live;
    for (int i = 0; i < 3000; ++i) {
      if (!live.empty() && random() % 100 < 48) {
        std::swap(live[random() % live.size()], live.back());
        allocator.Free(live.back());
        live.pop_back();
      } else {
        const auto stream = static_cast<Stream>(random() % 3);
        const BlockId id = allocator.Allocate(Bytes(RandomSize(random)), stream);
        if (id != CachingAllocator::kOutOfMemory) live.push_back(id);
      }
      if (i % 50 == 0) CheckLaws(allocator);
      if (random() % 500 == 0) allocator.EmptyCache();
    }
    for (const BlockId id : live) allocator.Free(id);
    CheckLaws(allocator);
    allocator.EmptyCache();
    EXPECT_EQ(allocator.reserved(), Bytes());
  }
}

TEST(CachingAllocatorDeathTest, FreeingTwiceIsAMistake) {
  CachingAllocator allocator;
  const BlockId id = allocator.Allocate(4 * kMiB);
  allocator.Free(id);
  EXPECT_DEATH(allocator.Free(id), "");
}

}  // namespace
}  // namespace trainfit::memory
