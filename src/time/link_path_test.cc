#include "time/link_path.h"

#include <gtest/gtest.h>

#include "time/machines_for_test.h"

namespace trainfit::time {
namespace {

using program::Group;

const LinkPath& Of(const LinkPaths& paths, Group group) {
  return paths[static_cast<std::size_t>(group)];
}

plan::Parallel Split(std::int64_t data, std::int64_t tensor, std::int64_t pipeline) {
  plan::Parallel parallel;
  parallel.data = data;
  parallel.tensor = tensor;
  parallel.pipeline = pipeline;
  return parallel;
}

TEST(LinkPathTest, MegatronPutsTensorInsideANodeAndStagesFurthestApart) {
  const spec::Machine machine = A100Nodes(8, 8);
  const auto paths = PathsOf(machine, Split(4, 8, 2));
  ASSERT_TRUE(paths);
  const LinkPath& tensor = Of(*paths, Group::kTensor);
  EXPECT_EQ(tensor.ranks, 8);
  EXPECT_EQ(tensor.islands, 1);
  EXPECT_EQ(tensor.inside->id, "nvlink3");
  EXPECT_EQ(tensor.between, nullptr);
  // Each replica is on a node of its own, and 8 groups share the 8 ports.
  const LinkPath& data = Of(*paths, Group::kData);
  EXPECT_EQ(data.ranks, 4);
  EXPECT_EQ(data.islands, 4);
  EXPECT_EQ(data.inside, nullptr);
  EXPECT_DOUBLE_EQ(data.between_nominal.value(), 25e9);
  EXPECT_EQ(Of(*paths, Group::kPipeline).islands, 2);
}

TEST(LinkPathTest, AGroupOfWholeNodesHasAllPorts) {
  const spec::Machine machine = A100Nodes(2, 8);
  const auto paths = PathsOf(machine, Split(16, 1, 1));
  ASSERT_TRUE(paths);
  const LinkPath& data = Of(*paths, Group::kData);
  EXPECT_EQ(data.islands, 2);
  EXPECT_EQ(data.RanksInside(), 8);
  EXPECT_DOUBLE_EQ(data.between_nominal.value(), 8 * 25e9);
  EXPECT_DOUBLE_EQ(data.between_achieved.value(), 8 * 22e9);
}

TEST(LinkPathTest, HalfANodeHasHalfThePorts) {
  const auto machine = A100Nodes(2, 8);
  const auto paths = PathsOf(machine, Split(8, 2, 1));
  ASSERT_TRUE(paths);
  EXPECT_EQ(Of(*paths, Group::kData).RanksInside(), 4);
  EXPECT_DOUBLE_EQ(Of(*paths, Group::kData).between_nominal.value(), 4 * 25e9);
}

TEST(LinkPathTest, ARingThatLeavesABridgeRunsOverPcie) {
  spec::Machine machine = A100Nodes(1, 4);
  machine.fabric.gpu_to_gpu = MakeLink("nvlink3-bridge-a100", "nvlink", "pair", "gpu", 300e9);
  machine.fabric.joined_gpus = 2;
  const auto four = PathsOf(machine, Split(4, 1, 1));
  ASSERT_TRUE(four);
  EXPECT_EQ(Of(*four, Group::kData).inside->kind, "pcie");
  const auto pairs = PathsOf(machine, Split(2, 2, 1));
  ASSERT_TRUE(pairs);
  EXPECT_EQ(Of(*pairs, Group::kTensor).inside->kind, "nvlink");
  EXPECT_EQ(Of(*pairs, Group::kData).inside->kind, "pcie");
}

TEST(LinkPathTest, ARackIsOneIsland) {
  spec::Machine machine = A100Nodes(18, 4);
  machine.fabric.joined_gpus = 72;
  const auto paths = PathsOf(machine, Split(72, 1, 1));
  ASSERT_TRUE(paths);
  EXPECT_EQ(Of(*paths, Group::kData).islands, 1);
  EXPECT_EQ(Of(*paths, Group::kData).between, nullptr);
}

TEST(LinkPathTest, AnUnknownNetworkIsRefusedOnlyWhereItIsUsed) {
  spec::Machine machine = A100Nodes(2, 8);
  machine.fabric.between_nodes.reset();
  const auto crossing = PathsOf(machine, Split(16, 1, 1));
  ASSERT_FALSE(crossing);
  EXPECT_EQ(crossing.error().front().code, "unknown-link");
  machine.nodes = 1;
  EXPECT_TRUE(PathsOf(machine, Split(8, 1, 1)));
}

TEST(LinkPathTest, RanksOfAllAxesMakeTheWorld) {
  plan::Parallel parallel = Split(4, 2, 3);
  parallel.context = 2;
  EXPECT_EQ(AxisOf(Group::kWorld, parallel).size, 48);
  EXPECT_EQ(AxisOf(Group::kData, parallel).size, 8);  // gradients are summed over context too
  EXPECT_EQ(AxisOf(Group::kPipeline, parallel).stride, 16);
  EXPECT_EQ(AxisOf(Group::kContext, parallel).stride, 2);
}

}  // namespace
}  // namespace trainfit::time
