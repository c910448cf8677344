#include "memory/pinned_allocator.h"

#include <gtest/gtest.h>

namespace trainfit::memory {
namespace {

// worked case 9: L3-8B and 70B over 8 ranks.
TEST(PinnedBytes, WorkedCaseOfTheNotes) {
  EXPECT_EQ(PinnedBytes(Bytes(4'015'130'624)), Bytes(4'294'967'296));
  EXPECT_EQ(PinnedBytes(Bytes(35'276'853'248)), Bytes(68'719'476'736));
  EXPECT_EQ(PinnedBytes(Bytes(17'638'426'624)), Bytes(34'359'738'368));
}

TEST(PinnedBytes, PowersOfTwoStayAndNothingTakesNothing) {
  EXPECT_EQ(PinnedBytes(Bytes(4096)), Bytes(4096));
  EXPECT_EQ(PinnedBytes(Bytes(4097)), Bytes(8192));
  EXPECT_EQ(PinnedBytes(Bytes(1)), Bytes(1));
  EXPECT_EQ(PinnedBytes(Bytes(0)), Bytes(0));
}

TEST(PinnedAllocator, KeepsFreedBlocksForTheSamePower) {
  PinnedAllocator allocator;
  allocator.Allocate(Bytes(700));
  allocator.Free(Bytes(700));
  EXPECT_EQ(allocator.allocated(), Bytes());
  EXPECT_EQ(allocator.reserved(), Bytes(1024));
  allocator.Allocate(Bytes(1000));  // the same power: reused
  EXPECT_EQ(allocator.reserved(), Bytes(1024));
  allocator.Allocate(Bytes(300));  // a smaller one is not cut out of it
  EXPECT_EQ(allocator.reserved(), Bytes(1024 + 512));
  EXPECT_EQ(allocator.peak_reserved(), Bytes(1024 + 512));
}

}  // namespace
}  // namespace trainfit::memory
