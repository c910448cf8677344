#include "catalog/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename T>
std::string ErrorsOf(const Expected<T>& value) {
  std::string text;
  if (value) return "no error";
  for (const Diagnostic& error : value.error()) text += RenderText(error);
  return text;
}

// "NODESxGPUS GPU", or the errors.
std::string Shape(std::string_view text) {
  const auto machine = ParseHardware(Catalog(), text);
  if (!machine) return ErrorsOf(machine);
  return std::to_string(machine->nodes) + "x" + std::to_string(machine->gpus_per_node) + " " +
         machine->gpu.id;
}

TEST(HardwareTest, Notation) {
  EXPECT_EQ(Shape("rtx-4090"), "1x1 rtx-4090");
  EXPECT_EQ(Shape("2xrtx-4090"), "1x2 rtx-4090");
  EXPECT_EQ(Shape("8xA100-80"), "1x8 a100-sxm-80");
  EXPECT_EQ(Shape("8x8xA100-80"), "8x8 a100-sxm-80");
  EXPECT_EQ(Shape("2x1xrtx-4090"), "2x1 rtx-4090");
  EXPECT_EQ(Shape("aws-p4d.24xlarge"), "1x8 a100-sxm-40");
  EXPECT_EQ(Shape("4xaws-p5.48xlarge"), "4x8 h100-sxm");
}

TEST(HardwareTest, OtherWaysToWriteIt) {
  EXPECT_EQ(Shape(" 2 X RTX 4090 "), "1x2 rtx-4090");
  EXPECT_EQ(Shape("8*h100"), "1x8 h100-sxm");
  EXPECT_EQ(Shape("8\xc3\x97H100"), "1x8 h100-sxm");
  EXPECT_EQ(Shape("8 A100-80GB"), "1x8 a100-sxm-80");
  EXPECT_EQ(Shape("A100-80GB:8"), "1x8 a100-sxm-80");
  EXPECT_EQ(Shape("2xA100-80GB:8"), "2x8 a100-sxm-80");
  EXPECT_EQ(Shape("4090"), "1x1 rtx-4090");
  EXPECT_EQ(Shape("2x4090"), "1x2 rtx-4090");
  EXPECT_EQ(Shape("4090 24GB"), "1x1 rtx-4090");
  EXPECT_EQ(Shape("7900xtx"), "1x1 rx-7900-xtx");
  EXPECT_EQ(Shape("4x7900xtx"), "1x4 rx-7900-xtx");
  EXPECT_EQ(Shape("Standard_ND96isr_H100_v5"), "1x8 h100-sxm");
}

TEST(HardwareTest, ManyGpusAreSplitIntoNodes) {
  EXPECT_EQ(Shape("16xA100-40"), "1x16 a100-sxm-40");
  EXPECT_EQ(Shape("64xH100"), "8x8 h100-sxm");
  EXPECT_EQ(Shape("72xGB200"), "18x4 gb200");
  const auto machine = ParseHardware(Catalog(), "64xh100-sxm");
  ASSERT_TRUE(machine);
  EXPECT_THAT(machine->assumptions,
              ElementsAre("8 nodes of 8 GPUs; another split is written NODESxGPUSxh100-sxm",
                          "between nodes: 8 x InfiniBand NDR 400 Gb/s, as in dgx-h100; a machine's "
                          "name or file says otherwise"));
  EXPECT_EQ(Shape("20xh100-sxm"),
            "error: \"20xh100-sxm\": no single machine has 20 of these GPUs\n"
            "  try: NODESxGPUSxh100-sxm\n");
}

TEST(HardwareTest, AnInstanceBringsItsHost) {
  const auto machine = ParseHardware(Catalog(), "4xaws-p4d.24xlarge");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->host_memory_per_node, 1152 * kGiB);
  EXPECT_EQ(machine->disk_per_node, 8000 * kGB);
  ASSERT_TRUE(machine->price);
  EXPECT_NEAR(InDollarsPerHour(*machine->price).value(), 4 * 21.9576, 1e-9);
  EXPECT_EQ(machine->price_source, "aws-p4d.24xlarge, on-demand, us-east-1, read 2026-11-09");
  EXPECT_EQ(machine->written_as, "4xaws-p4d.24xlarge");
  EXPECT_THAT(machine->assumptions, IsEmpty());
}

TEST(HardwareTest, ABareGpusHostIsUnknown) {
  const auto machine = ParseHardware(Catalog(), "8xA100-80");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->host_memory_per_node, std::nullopt);
  EXPECT_EQ(machine->price, std::nullopt);
  EXPECT_THAT(machine->assumptions,
              ElementsAre("\"A100-80\" taken as a100-sxm-80 (SXM is the usual form in servers); "
                          "the other is a100-pcie-80"));
}

TEST(HardwareTest, OffersSoldPerGpu) {
  const auto machine = ParseHardware(Catalog(), "8xrunpod-secure-h100-sxm");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->nodes, 1);
  EXPECT_EQ(machine->gpus_per_node, 8);
  EXPECT_EQ(machine->host_memory_per_node, 8 * 125 * kGB);
  EXPECT_NEAR(InDollarsPerHour(*machine->price).value(), 8 * 3.99, 1e-9);
  EXPECT_EQ(machine->price_source, "runpod-secure-h100-sxm, secure, read 2026-11-09");
  EXPECT_THAT(machine->assumptions, ElementsAre("8 GPUs of runpod-secure-h100-sxm in one machine"));
  const auto cluster = ParseHardware(Catalog(), "2x8xnebius-hgx-h100");
  ASSERT_TRUE(cluster) << ErrorsOf(cluster);
  EXPECT_EQ(cluster->nodes, 2);
  EXPECT_EQ(cluster->gpus_per_node, 8);
  EXPECT_NEAR(InDollarsPerHour(*cluster->price).value(), 16 * 4.5, 1e-9);
}

TEST(HardwareTest, ManyGpusOfAnOfferAreSplitIntoNodes) {
  EXPECT_EQ(Shape("64xrunpod-secure-h100-sxm"), "8x8 h100-sxm");
  EXPECT_EQ(Shape("2x2000xrunpod-secure-h100-sxm"),
            "error: \"2x2000xrunpod-secure-h100-sxm\": 2000 is no number of GPUs or machines\n"
            "  try: a number from 1 to 1024\n");
}

TEST(HardwareTest, ARackIsManyNodes) {
  const auto machine = ParseHardware(Catalog(), "gb200-nvl72");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->nodes, 18);
  EXPECT_EQ(machine->gpus_per_node, 4);
  EXPECT_EQ(machine->host_memory_per_node, Bytes(17280 * kGiB.value() / 18));
}

TEST(HardwareTest, CardsOfTwoDevices) {
  const auto machine = ParseHardware(Catalog(), "4xMI250X");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->gpus_per_node, 8);
  EXPECT_THAT(machine->assumptions, ElementsAre("a mi250x shows as 2 devices: 8 in all"));
}

TEST(HardwareTest, UnifiedMemoryIsSaid) {
  const auto machine = ParseHardware(Catalog(), "dgx-spark");
  ASSERT_TRUE(machine) << ErrorsOf(machine);
  EXPECT_EQ(machine->gpu.id, "gb10");
  EXPECT_EQ(machine->host_memory_per_node, 128 * kGiB);
  EXPECT_THAT(machine->assumptions,
              ElementsAre("the GPU shares its memory with the host: both draw on one pool"));
}

TEST(HardwareTest, Mistakes) {
  EXPECT_EQ(Shape("2xrtx-4900"),
            "error: no GPU or machine is called \"rtx-4900\"\n"
            "  try: rtx-4090, RTX 4000, RTX 4500\n");
  EXPECT_EQ(Shape("aws-p5.49xlarge"),
            "error: no GPU or machine is called \"aws-p5.49xlarge\"\n"
            "  try: aws-p5.48xlarge, aws-p5.4xlarge, aws-g5.48xlarge\n");
  EXPECT_EQ(Shape("zzzzzzzz"),
            "error: no GPU or machine is called \"zzzzzzzz\"\n"
            "  try: trainfit gpus, trainfit instances list what is known\n");
  EXPECT_EQ(Shape("8xA100"),
            "error: \"A100\" fits several GPUs\n"
            "  try: a100-sxm-40, a100-sxm-80, a100-pcie-40 or a100-pcie-80\n");
  EXPECT_EQ(Shape("2x8xaws-p5.48xlarge"),
            "error: \"2x8xaws-p5.48xlarge\": aws-p5.48xlarge already has 8 GPUs\n"
            "  try: 2xaws-p5.48xlarge\n");
  EXPECT_EQ(Shape("0xrtx-4090"),
            "error: \"0xrtx-4090\": 0 is no number of GPUs or machines\n"
            "  try: a number from 1 to 1000000\n");
  EXPECT_EQ(Shape("99999999999999999999xh100"),
            "error: \"99999999999999999999xh100\": 99999999999999999999 is no number of GPUs or "
            "machines\n"
            "  try: a number from 1 to 1000000\n");
  EXPECT_EQ(Shape("1000000x8xh100"),
            "error: \"1000000x8xh100\": 1000000 x 8 GPUs are more than 1000000\n"
            "  try: write GPU, GPUSxGPU or NODESxGPUSxGPU: rtx-4090, 8xA100-80, 2x8xA100-80\n");
  EXPECT_EQ(Shape("  "),
            "error: the hardware is empty\n"
            "  try: write GPU, GPUSxGPU or NODESxGPUSxGPU: rtx-4090, 8xA100-80, 2x8xA100-80\n");
  EXPECT_EQ(Shape("8x"),
            "error: \"8x\": which GPU?\n"
            "  try: write GPU, GPUSxGPU or NODESxGPUSxGPU: rtx-4090, 8xA100-80, 2x8xA100-80\n");
  EXPECT_EQ(Shape("h100:x"),
            "error: \"h100:x\": x is no number of GPUs or machines\n"
            "  try: a number from 1 to 1000000\n");
}

TEST(HardwareTest, OddTextIsAnErrorNotACrash) {
  for (const char* text : {"x", "xx", "8xx", "::", "8:8:8", "8x8x8xh100", "\xff\xfe", "8x\xc3",
                           "-1xh100", "1e3xh100", "h100:0", "*", "\xc3\x97"}) {
    EXPECT_FALSE(ParseHardware(Catalog(), text)) << text;
  }
}

std::string MachineOf(std::string text) {
  const auto node = config::ParseJson("box.json", std::move(text));
  if (!node) return ErrorsOf(node);
  const auto machine = ReadMachine(Catalog(), *node);
  if (!machine) return ErrorsOf(machine);
  return std::to_string(machine->nodes) + "x" + std::to_string(machine->gpus_per_node) + " " +
         machine->gpu.id + " " +
         (machine->host_memory_per_node ? std::to_string(InGiB(*machine->host_memory_per_node))
                                        : "unknown") +
         " " + machine->written_as;
}

TEST(HardwareTest, AMachineFile) {
  EXPECT_EQ(MachineOf(R"({"gpu": "4090"})"), "1x1 rtx-4090 unknown box.json");
  EXPECT_EQ(MachineOf(R"({"nodes": 2, "gpu": "4090", "gpu_count": 4, "host": {"ram_gib": 256}})"),
            "2x4 rtx-4090 256.000000 box.json");
  EXPECT_EQ(MachineOf(R"({"gpu_count": 2, "gpu": {"id": "moon", "name": "Moon",
              "memory": {"printed_gb": 64, "printed_unit": "binary"}, "peak": {}}})"),
            "1x2 moon unknown box.json");
}

TEST(HardwareTest, MistakesInAMachineFile) {
  EXPECT_EQ(MachineOf(R"({"gpu": "rtx-4900"})"),
            "box.json:1:9: error: no GPU is called \"rtx-4900\"\n"
            "  {\"gpu\": \"rtx-4900\"}\n"
            "          ^~~~~~~~~~\n"
            "  try: rtx-4090, RTX 4000 or RTX 4500\n");
  EXPECT_EQ(MachineOf(R"({"gpus": 4, "gpu": "rtx-4090"})"),
            "box.json:1:10: error: there is no key \"gpus\"\n"
            "  {\"gpus\": 4, \"gpu\": \"rtx-4090\"}\n"
            "           ^\n"
            "  try: gpu\n");
  EXPECT_EQ(MachineOf(R"({"gpu": "4090", "gpu_count": 3, "host": {"systems": 2}})"),
            "box.json:1:53: error: 3 GPUs cannot be shared out to 2 systems\n"
            "  {\"gpu\": \"4090\", \"gpu_count\": 3, \"host\": {\"systems\": 2}}\n"
            "                                                      ^\n");
  EXPECT_THAT(MachineOf(R"({"gpu": "4090", "gpu_count": "many", "host": {"systems": "few"}})"),
              ::testing::HasSubstr("\"gpu_count\" must be"));
  EXPECT_THAT(MachineOf(R"({"gpu": 4090})"),
              ::testing::HasSubstr("\"gpu\" must be a string, found 4090"));
  EXPECT_THAT(MachineOf("{}"), ::testing::HasSubstr("\"gpu\" is missing"));
  EXPECT_THAT(MachineOf("[]"), ::testing::HasSubstr("a machine is an object, found an array"));
}

}  // namespace
}  // namespace trainfit::catalog
