#include "time/exchange.h"

#include <gtest/gtest.h>

#include <vector>

#include "time/collective_curves.h"
#include "time/machines_for_test.h"
#include "time/nccl_model.h"

namespace trainfit::time {
namespace {

using program::Collective;

constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kAllToAll,
                               Collective::kBroadcast,     Collective::kSendReceive};

LinkPath DataPath(const spec::Machine& machine, std::int64_t ranks) {
  plan::Parallel parallel;
  parallel.data = ranks;
  return PathsOf(machine, parallel).value()[static_cast<std::size_t>(program::Group::kData)];
}

double Micro(Collective collective, Bytes bytes, const LinkPath& path) {
  return ExchangeSeconds(collective, bytes, path, "a100-sxm-80").point.value() * 1e6;
}

TEST(ExchangeTest, AMeasuredSizeTakesWhatWasMeasured) {
  const spec::Machine machine = A100Nodes(1, 8);
  // 8 x A100, 1 GiB: 229 GB/s of bus bandwidth.
  const double seconds = Micro(Collective::kAllReduce, kGiB, DataPath(machine, 8)) * 1e-6;
  EXPECT_NEAR(static_cast<double>(kGiB.value()) * 1.75 / seconds / 1e9, 228, 4);
}

TEST(ExchangeTest, OneRankOrNothingTakesNoTime) {
  const spec::Machine machine = A100Nodes(1, 8);
  for (const Collective collective : kAll) {
    EXPECT_EQ(Micro(collective, kGiB, DataPath(machine, 1)), 0);
    EXPECT_EQ(Micro(collective, Bytes(), DataPath(machine, 8)), 0);
  }
}

TEST(ExchangeTest, MoreBytesNeverTakeLess) {
  const spec::Machine machine = A100Nodes(16, 8);
  for (const Collective collective : kAll) {
    for (const std::int64_t ranks : {2, 3, 4, 8, 16, 128}) {
      double before = 0;
      for (std::int64_t bytes = 1000; bytes < 20'000'000'000; bytes = bytes * 5 / 4) {
        const double now = Micro(collective, Bytes(bytes), DataPath(machine, ranks));
        ASSERT_GE(now, before * (1 - 1e-12))
            << static_cast<int>(collective) << " over " << ranks << ": " << bytes;
        before = now;
      }
    }
  }
}

TEST(ExchangeTest, MoreRanksNeverTakeLess) {
  const spec::Machine machine = A100Nodes(64, 8);
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    for (const Bytes bytes : {16 * kMiB, 256 * kMiB, 4 * kGiB}) {
      double before = 0;
      for (const std::int64_t ranks : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        const double now = Micro(collective, bytes, DataPath(machine, ranks));
        EXPECT_GE(now, before) << static_cast<int>(collective) << " over " << ranks;
        before = now;
      }
    }
  }
}

TEST(ExchangeTest, NothingIsFasterThanTheWire) {
  const spec::Machine machine = A100Nodes(64, 8);
  for (const Collective collective : kAll) {
    for (const std::int64_t ranks : {2, 4, 8, 64, 512}) {
      const LinkPath path = DataPath(machine, ranks);
      for (const Bytes bytes : {kMiB, 64 * kMiB, 8 * kGiB}) {
        const Estimate time = ExchangeSeconds(collective, bytes, path, "a100-sxm-80");
        const bool twice = collective == Collective::kAllReduce;
        const double share = twice ? 1 : BusShare(collective, ranks);
        // Of what all of a node send, the part that leaves it.
        const double leaves = collective == Collective::kAllToAll
                                  ? static_cast<double>(path.RanksInside()) *
                                        static_cast<double>(ranks - path.RanksInside()) /
                                        static_cast<double>(ranks)
                                  : share;
        const double wire =
            path.between != nullptr
                ? static_cast<double>(bytes.value()) * leaves / path.between_nominal.value()
                : static_cast<double>(bytes.value()) * share / path.inside->one_way.value();
        EXPECT_GE(time.point.value(), wire * (1 - 1e-9))
            << static_cast<int>(collective) << " over " << ranks;
        EXPECT_LE(time.low, time.point);
        EXPECT_GE(time.high, time.point);
      }
    }
  }
}

// The closed form of a ring: (n - 1) steps, each passes a share of the buffer on.
TEST(ExchangeTest, ALargeRingIsLatencyAndBandwidth) {
  const spec::Machine machine = A100Nodes(4, 8);
  const LinkPath path = DataPath(machine, 32);
  const double bytes = 8e9;
  const double wire = bytes * 31 / 32 / (8 * 22e9);
  const double steps = (31 - 3) * 3.4e-6 + 3 * 14e-6 + 8.4e-6;
  EXPECT_NEAR(NcclSeconds(Collective::kAllGather, Bytes(8'000'000'000), path).value(), wire + steps,
              1e-9);
}

TEST(ExchangeTest, TheNearestMeasuredLinkStandsInWithAWiderRange) {
  spec::Machine machine = A100Nodes(1, 8);
  const auto width = [](const Estimate& e) { return (e.high - e.low) / e.point; };
  const Estimate own = ExchangeSeconds(Collective::kAllReduce, kGiB, DataPath(machine, 8), "");
  machine.fabric.gpu_to_gpu->id = "nvlink-a800";
  machine.fabric.gpu_to_gpu->one_way = BytesPerSecond(200e9);
  machine.fabric.gpu_to_gpu->all_reduce_bus = BytesPerSecond(156e9);
  const Estimate related = ExchangeSeconds(Collective::kAllReduce, kGiB, DataPath(machine, 8), "");
  EXPECT_NEAR(related.point / own.point, 229.0 / 156, 0.03);
  EXPECT_GT(width(related), width(own));
  machine.fabric.gpu_to_gpu->id = "my-link";
  machine.fabric.gpu_to_gpu->all_reduce_bus.reset();
  const Estimate unknown = ExchangeSeconds(Collective::kAllReduce, kGiB, DataPath(machine, 8), "");
  EXPECT_GT(width(unknown), width(related));
}

TEST(ExchangeTest, TheWidestRangeIsThatOfTheLeastKnownLink) {
  const spec::Machine machine = A100Nodes(2, 8);
  plan::Parallel parallel;
  EXPECT_EQ(WidestSpread(PathsOf(machine, parallel).value(), "").high, 1);
  parallel.tensor = 8;
  const Spread inside = WidestSpread(PathsOf(machine, parallel).value(), "");
  parallel.data = 2;
  const Spread between = WidestSpread(PathsOf(machine, parallel).value(), "");
  EXPECT_GT(inside.high, 1);
  EXPECT_GT(between.high, inside.high);
  EXPECT_LT(between.low, inside.low);
}

TEST(ExchangeTest, CurvesRise) {
  ASSERT_GT(CollectiveCurves().size(), 80U);
  for (const CollectiveCurve& curve : CollectiveCurves()) {
    ASSERT_GE(curve.points.size(), 4U);
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      EXPECT_GT(curve.points[i].bytes, curve.points[i - 1].bytes) << curve.link;
      EXPECT_GE(curve.points[i].seconds, curve.points[i - 1].seconds) << curve.link;
    }
  }
}

// Four nodes of 8 ranks with about 100 GB/s a node between them, all-reduce of nccl-tests
// (stas00/ml-engineering network/benchmarks/README.md).
TEST(ExchangeTest, TheModelBetweenNodesComesNearASweepOverSizes) {
  const spec::Machine machine = [] {
    spec::Machine four = A100Nodes(4, 8);
    four.fabric.ports_per_node = 4;
    four.fabric.between_nodes->all_reduce_bus = BytesPerSecond(92e9 / 4);
    return four;
  }();
  struct Row {
    std::int64_t mib;
    double bus;
  };
  for (const Row row : {Row{1, 17.1}, Row{4, 40.3}, Row{16, 93.9}, Row{64, 84.9}, Row{1024, 94.2},
                        Row{16384, 91.7}}) {
    const double seconds =
        Micro(Collective::kAllReduce, row.mib * kMiB, DataPath(machine, 32)) * 1e-6;
    const double bus = static_cast<double>(row.mib * kMiB.value()) *
                       BusShare(Collective::kAllReduce, 32) / seconds / 1e9;
    EXPECT_GT(bus, row.bus * 0.65) << row.mib;
    EXPECT_LT(bus, row.bus * 1.35) << row.mib;
  }
}

}  // namespace
}  // namespace trainfit::time
