#include "catalog/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/hardware.h"

namespace trainfit::catalog {
namespace {

using testing::Contains;
using testing::HasSubstr;

spec::Machine On(std::string_view text) {
  auto machine = ParseHardware(Catalog(), text);
  EXPECT_TRUE(machine) << text;
  return machine ? *std::move(machine) : spec::Machine();
}

TEST(FabricTest, AMachineBringsItsOwnLinks) {
  const spec::Machine machine = On("2xaws-p4d.24xlarge");
  EXPECT_EQ(machine.fabric.gpu_to_gpu->id, "nvlink3");
  EXPECT_EQ(machine.fabric.joined_gpus, 8);
  EXPECT_EQ(machine.fabric.host->id, "pcie-gen4-x16");
  EXPECT_EQ(machine.fabric.between_nodes->id, "efa-v1-p4d");
}

TEST(FabricTest, BareCardsAreJoinedAsInATypicalMachineAndThatIsSaid) {
  const spec::Machine machine = On("2x8xA100-80");
  EXPECT_EQ(machine.fabric.between_nodes->id, "ib-hdr");
  EXPECT_EQ(machine.fabric.ports_per_node, 8);
  EXPECT_THAT(machine.assumptions, Contains(HasSubstr("as in dgx-a100-640")));
  // One node needs no network.
  EXPECT_FALSE(On("8xA100-80").fabric.between_nodes);
}

TEST(FabricTest, ABridgeIsThereOnlyWhereAMachineSaysSo) {
  EXPECT_EQ(On("2xrtx-3090").fabric.gpu_to_gpu->id, "pcie-gen4-x16-no-p2p");
  EXPECT_EQ(On("2xa100-pcie-80").fabric.gpu_to_gpu->id, "pcie-gen4-x16");
  const spec::Machine bridged = On("ws-2x-rtx-3090-nvlink");
  EXPECT_EQ(bridged.fabric.gpu_to_gpu->id, "nvlink3-bridge-ga102");
  EXPECT_EQ(bridged.fabric.joined_gpus, 2);
  EXPECT_EQ(bridged.fabric.host->id, "pcie-gen4-x8");
}

TEST(FabricTest, ARackIsJoinedAsAWhole) {
  EXPECT_EQ(On("gb200-nvl72-rack").fabric.joined_gpus, 72);
  EXPECT_EQ(On("gb200-nvl72-rack").gpus_per_node, 4);
}

TEST(FabricTest, ANetworkOfKnownRateCarriesTcp) {
  const spec::Machine machine = On("2xaws-g5.48xlarge");
  EXPECT_EQ(machine.fabric.between_nodes->kind, "ethernet");
  EXPECT_DOUBLE_EQ(machine.fabric.between_nodes->one_way.value(), 12.5e9);
  const spec::Machine forty = On("2xaws-g5.12xlarge");
  EXPECT_DOUBLE_EQ(forty.fabric.between_nodes->one_way.value(), 5e9);
}

TEST(FabricTest, EveryMachineOfTheCatalogueIsJoined) {
  const Catalog catalog;
  const auto instances = catalog.ListInstances();
  ASSERT_TRUE(instances);
  for (const InstanceRecord& record : *instances) {
    const auto machine = ParseHardware(catalog, record.offer.id);
    ASSERT_TRUE(machine) << record.offer.id;
  }
}

}  // namespace
}  // namespace trainfit::catalog
