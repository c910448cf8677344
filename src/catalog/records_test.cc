#include "catalog/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "catalog/catalog.h"
#include "config/file_reader.h"
#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

using ::testing::ElementsAre;

config::Node Json(std::string text) {
  auto node = config::ParseJson("mine.json", std::move(text));
  return node ? *node : config::Node();
}

template <typename T>
std::string ErrorsOf(const Expected<T>& value) {
  std::string text;
  if (value) return "no error";
  for (const Diagnostic& error : value.error()) text += RenderText(error);
  return text;
}

TEST(RecordsTest, AGpuOfTheCatalogue) {
  const auto match = Catalog().FindGpu("rtx-4090");
  ASSERT_TRUE(match) << ErrorsOf(match);
  const spec::Gpu& gpu = match->record.gpu;
  EXPECT_EQ(gpu.name, "GeForce RTX 4090");
  EXPECT_EQ(gpu.vendor, "NVIDIA");
  EXPECT_EQ(gpu.architecture, "Ada");
  EXPECT_EQ(gpu.compute_capability, "8.9");
  EXPECT_EQ(gpu.memory_printed, "24 GB");
  EXPECT_EQ(gpu.memory_usable, BytesFromGiB(23.64));
  EXPECT_EQ(gpu.memory_usable_basis, Basis::kMeasured);
  EXPECT_EQ(gpu.memory_bandwidth, BytesPerSecond(1008e9));
  EXPECT_EQ(gpu.bf16, FlopsPerSecond(165.2e12));
  EXPECT_EQ(gpu.fp32, FlopsPerSecond(82.58e12));
  EXPECT_EQ(gpu.sm_count, 128);
  EXPECT_EQ(gpu.nvlink_bidirectional, std::nullopt);
  EXPECT_EQ(gpu.pcie, "gen4x16");
  EXPECT_TRUE(gpu.supports_bf16);
  EXPECT_FALSE(gpu.supports_peer_access);
  EXPECT_EQ(gpu.form, "pcie");
  EXPECT_FALSE(gpu.sources.empty());
  EXPECT_TRUE(match->assumptions.empty());
}

TEST(RecordsTest, MemoryThatNobodyPrintedIsAssumedAndSaid) {
  const auto match = Catalog().FindGpu("rtx-4060");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.gpu.memory_usable, BytesFromGiB(0.97 * 8));
  EXPECT_EQ(match->record.gpu.memory_usable_basis, Basis::kAssumed);
  EXPECT_THAT(match->assumptions,
              ElementsAre("rtx-4060: 7.8 GiB of the printed 8 GB can be allocated"));
}

TEST(RecordsTest, DecimalPrintIsConverted) {
  const auto match = Catalog().FindGpu("gb300");  // 288 decimal GB are 268.2 GiB
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_NEAR(InGiB(match->record.gpu.memory_usable), 0.985 * 268.2, 0.1);
}

TEST(RecordsTest, UnifiedMemoryIsNotAllForTheGpu) {
  EXPECT_DOUBLE_EQ(AssumedUsableGib(128, false, true), 96);
  EXPECT_DOUBLE_EQ(AssumedUsableGib(24, false, true), 16);
}

TEST(RecordsTest, ACardOfTwoDevicesIsGivenAsOne) {
  const auto match = Catalog().FindGpu("MI250X");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.devices_per_card, 2);
  EXPECT_EQ(match->record.gpu.memory_printed, "64 GB a device");
  EXPECT_EQ(match->record.gpu.bf16, FlopsPerSecond(191.5e12));
  EXPECT_NEAR(InGiB(match->record.gpu.memory_usable), 63.98, 0.01);
}

TEST(RecordsTest, AnInstanceOfTheCatalogue) {
  const auto match = Catalog().FindInstance("aws-p4d.24xlarge");
  ASSERT_TRUE(match) << ErrorsOf(match);
  const spec::Offer& offer = match->record.offer;
  EXPECT_EQ(offer.provider, "AWS");
  EXPECT_EQ(offer.gpu_id, "a100-sxm-40");
  EXPECT_EQ(offer.gpus, 8);
  ASSERT_TRUE(offer.price);
  EXPECT_NEAR(InDollarsPerHour(*offer.price).value(), 21.9576, 1e-9);
  EXPECT_EQ(offer.spot_price, std::nullopt);
  EXPECT_EQ(offer.price_date, "2026-11-09");
  EXPECT_EQ(offer.tier, "on-demand");
  EXPECT_EQ(offer.region, "us-east-1");
  EXPECT_EQ(offer.host_memory, 1152 * kGiB);
  EXPECT_EQ(offer.local_disk, 8000 * kGB);
  EXPECT_EQ(offer.cpus, 96);
  EXPECT_EQ(offer.intra_node_link, "nvlink3");
  EXPECT_EQ(offer.network_gbit_per_s, 400);
}

TEST(RecordsTest, ALinkOfTheCatalogue) {
  const auto match = Catalog().FindLink("NVLink 4");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.id, "nvlink4");
  EXPECT_EQ(match->record.one_way, BytesPerSecond(450e9));
  EXPECT_EQ(match->record.all_reduce_bus, BytesPerSecond(367e9));
  EXPECT_EQ(match->record.host_copy, std::nullopt);
  ASSERT_TRUE(match->record.latency);
  EXPECT_NEAR(match->record.latency->value(), 2e-6, 1e-12);
  EXPECT_EQ(match->record.achieved_basis, Basis::kMeasured);
}

TEST(RecordsTest, AModelOfTheCatalogue) {
  const auto match = Catalog().FindModel("openai/gpt-oss-20b");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.params, 20'914'757'184);
  EXPECT_EQ(match->record.active_params, 4'187'440'704);
  EXPECT_EQ(match->record.tied_embeddings, false);
  EXPECT_EQ(match->record.license, "apache-2.0");
  const config::Node* experts = match->record.config.Find("num_local_experts");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->integer, 32);
}

TEST(RecordsTest, AMistypedKeyIsShownWithTheRightOne) {
  const std::string json =
      R"({"id": "x", "name": "X", "memory": {"printed_gb": 24, "printed_unit": "binary",
  "useable_gib": 23}, "peak": {"has_bf16": true}})";
  EXPECT_EQ(ErrorsOf(ReadGpu(Json(json))),
            "mine.json:2:18: error: there is no key \"useable_gib\"\n"
            "    \"useable_gib\": 23}, \"peak\": {\"has_bf16\": true}}\n"
            "                   ^~\n"
            "  try: usable_gib\n");
}

TEST(RecordsTest, EverythingWrongIsSaidAtOnce) {
  const std::string errors =
      ErrorsOf(ReadGpu(Json(R"({"id": 7, "name": "X", "memory": {"printed_gb": -1,
  "printed_unit": "octal"}})")));
  EXPECT_THAT(errors, ::testing::HasSubstr("\"id\" must be a string, found 7"));
  EXPECT_THAT(errors, ::testing::HasSubstr("\"printed_gb\" must be"));
  EXPECT_THAT(errors,
              ::testing::HasSubstr("\"printed_unit\" must be binary or decimal, found \"octal\""));
  EXPECT_THAT(errors, ::testing::HasSubstr("\"peak\" is missing"));
}

TEST(RecordsTest, WrongKindsAreErrorsNotCrashes) {
  for (const char* text :
       {"[]", "3", "null", "{}", R"({"id": "x", "memory": 3})", R"({"id": "x", "sources": {}})",
        R"({"id": "x", "sources": [1]})", R"({"id": "x", "links": []})",
        R"({"id": "x", "gpu": 1, "gpu_count": 0, "provider": []})"}) {
    EXPECT_FALSE(ReadGpu(Json(text))) << text;
    EXPECT_FALSE(ReadInstance(Json(text))) << text;
    EXPECT_FALSE(ReadLink(Json(text))) << text;
    EXPECT_FALSE(ReadModel(Json(text))) << text;
  }
}

// The schema describes what the reader knows, and the other way round.
TEST(RecordsTest, KeysAreThoseOfTheSchema) {
  const std::pair<Kind, const char*> kinds[] = {{Kind::kGpu, "data/schema/gpu.json"},
                                                {Kind::kInstance, "data/schema/instance.json"},
                                                {Kind::kLink, "data/schema/link.json"},
                                                {Kind::kModel, "data/schema/model.json"}};
  for (const auto& [kind, path] : kinds) {
    const auto schema = config::ReadJsonFile(path);
    ASSERT_TRUE(schema) << path;
    std::vector<std::string> described;
    for (const config::Member& member : schema->Find("keys")->members) {
      described.push_back(member.key);
      const config::Node* inner = member.value.Find("keys");
      if (inner == nullptr || member.key == "params_by_part") continue;
      for (const config::Member& key : inner->members) {
        described.push_back(member.key + "." + key.key);
      }
    }
    std::vector<std::string> known = KnownKeys(kind);
    std::sort(described.begin(), described.end());
    std::sort(known.begin(), known.end());
    EXPECT_EQ(known, described) << path;
  }
}

}  // namespace
}  // namespace trainfit::catalog
