#include "memory/overhead.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trainfit::memory {
namespace {

spec::Gpu Card(const std::string& vendor, const std::string& capability) {
  spec::Gpu gpu;
  gpu.vendor = vendor;
  gpu.compute_capability = capability;
  gpu.memory_usable = 80 * kGiB;
  return gpu;
}
spec::Gpu Nvidia(const std::string& capability) { return Card("NVIDIA", capability); }

TEST(ContextOf, EveryCapabilityHasARowThatContainsItsMeasurements) {
  const auto contains = [](const std::string& capability, std::int64_t mib) {
    const Range bytes = ContextOf(Nvidia(capability)).bytes;
    return bytes.low <= mib * kMiB && mib * kMiB <= bytes.high;
  };
  EXPECT_TRUE(contains("7.5", 133) && contains("7.5", 147));
  EXPECT_TRUE(contains("8.0", 481) && contains("8.0", 942));
  EXPECT_TRUE(contains("8.6", 256) && contains("8.6", 328));
  EXPECT_TRUE(contains("8.9", 426));
  EXPECT_TRUE(contains("9.0", 616));
  for (const char* capability : {"6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3",
                                 "12.0", "12.1", "99.9", "gfx942", ""}) {
    const OverheadRow row = ContextOf(Nvidia(capability));
    EXPECT_LT(row.bytes.low, row.bytes.point) << capability;
    EXPECT_LT(row.bytes.point, row.bytes.high) << capability;
    EXPECT_FALSE(row.source.empty()) << capability;
  }
}

TEST(ContextOf, UnknownCardsHaveTheWidestRange) {
  const auto width = [](const spec::Gpu& gpu) {
    const Range bytes = ContextOf(gpu).bytes;
    return bytes.high - bytes.low;
  };
  for (const char* known : {"7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"}) {
    EXPECT_GT(width(Nvidia("99.9")), width(Nvidia(known))) << known;
  }
  EXPECT_EQ(ContextOf(Card("AMD", "gfx942")).name, "HIP context");
}

TEST(CublasWorkspaces, SizeByArchitectureAndVersion) {
  const auto each = [](const spec::Gpu& gpu, plan::Version torch) {
    return CublasWorkspaceOf(gpu, {.torch = torch}).bytes.point.value();
  };
  EXPECT_EQ(each(Nvidia("8.0"), {2, 12, 0}), 8'519'680);
  EXPECT_EQ(each(Nvidia("9.0"), {2, 4, 0}), 33'554'432);
  EXPECT_EQ(each(Nvidia("12.0"), {2, 10, 0}), 8'519'680);
  EXPECT_EQ(each(Nvidia("12.0"), {2, 12, 0}), 33'554'432);
  EXPECT_EQ(each(Card("AMD", "gfx942"), {2, 12, 0}), 134'217'728);
  EXPECT_EQ(each(Card("AMD", "gfx90a"), {2, 12, 0}), 33'554'432);
}

TEST(CublasWorkspaces, OneForEachThreadAndStream) {
  EXPECT_EQ(CublasWorkspaces(Nvidia("8.0")).size(), 2u);
  EXPECT_EQ(CublasWorkspaces(Nvidia("8.0"), {.handles = 2, .streams = 2}).size(), 4u);
  // Linears with a bias had a workspace of their own before 2.11.
  const auto old = CublasWorkspaces(Nvidia("8.0"), {.torch = {2, 4, 0}, .linear_bias = true});
  ASSERT_EQ(old.size(), 4u);
  EXPECT_EQ(old[1].bytes, 1 * kMiB);
  EXPECT_EQ(CublasWorkspaces(Nvidia("8.0"), {.linear_bias = true}).size(), 2u);
}

// worked case 11: CUBLAS_WORKSPACE_CONFIG=:4096:8 gives 2 × 32 MiB.
TEST(CublasWorkspaces, ConfiguredSizeHolds) {
  const auto held = CublasWorkspaces(Nvidia("8.0"), {.configured = Bytes(33'554'432)});
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].bytes, Bytes(33'554'432));
}

OverheadRow Nccl(std::vector<Communicator> communicators) {
  return NcclOf(Nvidia("9.0"), communicators);
}

TEST(NcclOf, OneRankNeedsNothing) {
  const OverheadRow row = Nccl({{"data parallel", 1, Link::kNvlink}});
  EXPECT_EQ(row.bytes, Range());
  EXPECT_EQ(row.basis, Basis::kExact);
}

TEST(NcclOf, FurtherCommunicatorsAddLess) {
  const Range one = Nccl({{"data", 8, Link::kNvlink}}).bytes;
  const Range two = Nccl({{"data", 8, Link::kNvlink}, {"tensor", 2, Link::kNvlink}}).bytes;
  EXPECT_GT(two.point, one.point);
  EXPECT_LT(two.point, 2 * one.point);
  Communicator split{"tensor", 2, Link::kNvlink};
  split.shares_resources = true;
  const Range shared = Nccl({{"data", 8, Link::kNvlink}, split}).bytes;
  EXPECT_LT(shared.point, two.point);
}

TEST(NcclOf, PcieNeedsLessThanNvlink) {
  EXPECT_LT(Nccl({{"data", 8, Link::kPcieHost}}).bytes.point,
            Nccl({{"data", 8, Link::kNvlink}}).bytes.point);
}

TEST(NcclOf, MeasuredRunsLieInside) {
  const auto inside = [](const Range& bytes, Bytes measured) {
    return bytes.low <= measured && measured <= bytes.high;
  };
  // 8 × H100, 1.06 GB before and 4.34 GB after the first all-to-all (nccl issue 1685).
  const Range expert =
      Nccl({{"data", 8, Link::kNvlink}, {"expert", 8, Link::kNvlink, Traffic::kAllToAll}}).bytes;
  EXPECT_TRUE(inside(expert, Bytes(4'340'000'000)));
  // A100, two ranks, after the first barrier: 1.45 GiB.
  EXPECT_TRUE(inside(Nccl({{"data", 2, Link::kNvlink}}).bytes, BytesFromGiB(1.45)));
}

TEST(NcclOf, UnknownLinksSpanTheOthers) {
  const Range unknown = Nccl({{"data", 8, Link::kUnknown}}).bytes;
  EXPECT_LE(unknown.low, Nccl({{"data", 8, Link::kPciePeer}}).bytes.low);
  EXPECT_LE(Nccl({{"data", 8, Link::kPciePeer}}).bytes.high, unknown.high);
}

TEST(UsableOf, ADisplayTakesItsShare) {
  const spec::Gpu gpu = Nvidia("8.9");
  EXPECT_EQ(UsableOf(gpu).bytes.low, 80 * kGiB);
  const Range with_display = UsableOf(gpu, {.drives_display = true}).bytes;
  EXPECT_LT(with_display.low, with_display.point);
  EXPECT_LT(with_display.high, 80 * kGiB);
}

TEST(AllocatorCapacity, IsWhatTheOthersLeave) {
  const spec::Gpu gpu = Nvidia("8.0");
  const std::vector<OverheadRow> outside = {ContextOf(gpu)};
  EXPECT_EQ(AllocatorCapacity(UsableOf(gpu), outside), 80 * kGiB - 520 * kMiB);
  spec::Gpu tiny = gpu;
  tiny.memory_usable = 100 * kMiB;
  EXPECT_EQ(AllocatorCapacity(UsableOf(tiny), outside), Bytes());
}

}  // namespace
}  // namespace trainfit::memory
