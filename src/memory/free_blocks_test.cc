#include "memory/free_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace trainfit::memory {
namespace {

// Sizes that share bins, differ by little, repeat often, or lie far apart.
std::int64_t RandomSize(std::mt19937_64& random) {
  const int shift = static_cast<int>(random() % 34);
  const std::int64_t units = (std::int64_t{1} << shift) + static_cast<std::int64_t>(random() % 9);
  return 512 * units;
}

TEST(FreeBlocks, KeepsTheOrderOfASortedMap) {
  std::mt19937_64 random(7);
  FreeBlocks blocks;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> sorted;
  std::vector<std::int32_t> unused;
  for (std::int32_t id = 399; id >= 0; --id) unused.push_back(id);
  for (int step = 0; step < 20'000; ++step) {
    if (!sorted.empty() && (unused.empty() || random() % 2 == 0)) {
      auto victim = sorted.lower_bound({RandomSize(random), 0});
      if (victim == sorted.end()) victim = sorted.begin();
      blocks.Erase(victim->second);
      unused.push_back(victim->second);
      sorted.erase(victim);
    } else {
      const std::int64_t size = RandomSize(random);
      const auto address = static_cast<std::int64_t>(512 * random());
      blocks.Insert(unused.back(), {size, address >> 8 << 8});
      sorted[{size, address >> 8 << 8}] = unused.back();
      unused.pop_back();
    }
    const std::int64_t wanted = RandomSize(random);
    const auto expected = sorted.lower_bound({wanted, INT64_MIN});
    EXPECT_EQ(blocks.LowerBound(wanted),
              expected == sorted.end() ? FreeBlocks::kNone : expected->second);
    EXPECT_EQ(blocks.empty(), sorted.empty());
  }
  std::int32_t id = blocks.First();
  for (const auto& [key, block] : sorted) {
    EXPECT_EQ(id, block);
    EXPECT_EQ(blocks.KeyOf(id).size, key.first);
    id = blocks.Next(id);
  }
  EXPECT_EQ(id, FreeBlocks::kNone);
  ASSERT_FALSE(sorted.empty());
  EXPECT_EQ(blocks.Last(), sorted.rbegin()->second);
}

}  // namespace
}  // namespace trainfit::memory
