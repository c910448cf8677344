#include "validate/interconnect.h"

#include <gtest/gtest.h>

namespace trainfit::validate {
namespace {

spec::Machine With(std::string_view interconnect, std::string_view architecture = "Ampere") {
  spec::Machine machine;
  machine.gpu.architecture = architecture;
  machine.nodes = 2;
  machine.gpus_per_node = 8;
  SetNetwork(interconnect, catalog::Catalog(), &machine);
  return machine;
}

double NodeGigabytes(const spec::Machine& machine) {
  return machine.fabric.between_nodes->one_way.value() *
         static_cast<double>(machine.fabric.ports_per_node) / 1e9;
}

TEST(InterconnectTest, GenerationsByNameWithTheirPorts) {
  const spec::Machine four = With("NVLink3/NVSwitch + 800 Gb/s per node (4x IB-HDR)");
  EXPECT_EQ(four.fabric.between_nodes->id, "ib-hdr");
  EXPECT_EQ(four.fabric.ports_per_node, 4);
  const spec::Machine each = With("NVLink4 + IB-NDR (DGX H100 SuperPOD)");
  EXPECT_EQ(each.fabric.between_nodes->id, "ib-ndr");
  EXPECT_EQ(each.fabric.ports_per_node, 8);
  EXPECT_EQ(With("NVLink4 + AWS EFA (p5) ", "Hopper").fabric.between_nodes->id, "efa-v2-p5");
}

TEST(InterconnectTest, RatesOfAPortAGpuOrANode) {
  EXPECT_DOUBLE_EQ(NodeGigabytes(With("NVLink3 + 4x100 Gb/s RoCE per node")), 50);
  EXPECT_DOUBLE_EQ(NodeGigabytes(With("NVLink + RDMA 400Gb/s per GPU (Grand Teton)")), 400);
  EXPECT_DOUBLE_EQ(NodeGigabytes(With("NVLink+RoCE-1600Gbps/node")), 200);
  EXPECT_DOUBLE_EQ(NodeGigabytes(With("NVSwitch (DGX-2) + 1x IB 100 Gb/s per node")), 12.5);
  EXPECT_DOUBLE_EQ(NodeGigabytes(With("NVLink + 3.2 Tb/s inter-node")), 400);
}

TEST(InterconnectTest, WhatNamesNoNetworkChangesNothing) {
  for (const char* text : {"", "NVLink", "NVLink + IB (not stated)", "PCIe, no P2P",
                           "NVLink + 400 Gb/s .. 3.2 Tb/s (three clusters)"}) {
    EXPECT_FALSE(With(text).fabric.between_nodes) << text;
  }
}

}  // namespace
}  // namespace trainfit::validate
