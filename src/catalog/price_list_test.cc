#include "catalog/price_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/csv.h"
#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kGpuhunt =
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,provider\n";
constexpr std::string_view kSkyPilot =
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,"
    "SpotPrice\n";

Expected<ImportedPrices> Import(const std::string& text) {
  return ImportPriceList(Catalog(), "list.csv", text, {"own", "2026-11-20"});
}

// The machines as the catalogue reads them back.
std::vector<InstanceRecord> Read(const std::string& text) {
  const Expected<ImportedPrices> prices = Import(text);
  EXPECT_TRUE(prices.has_value()) << RenderText(prices.error()[0]);
  Catalog catalog;
  EXPECT_TRUE(catalog.Add(*config::ParseJson("prices", prices->json)).empty());
  std::vector<InstanceRecord> records;
  const config::Node tree = *config::ParseJson("prices", prices->json);
  for (const config::Node& item : tree.Find("instances")->items) {
    records.push_back(catalog.FindInstance(item.Find("id")->text)->record);
  }
  return records;
}

TEST(Csv, QuotesHoldCommasQuotesAndLineBreaks) {
  const Expected<Csv> csv = ParseCsv("f", "a,b\r\n\"1,\n\"\"2\"\"\",3\n\n4,\n");
  ASSERT_TRUE(csv.has_value());
  EXPECT_THAT(csv->header, ElementsAre("a", "b"));
  ASSERT_EQ(csv->rows.size(), 2u);
  EXPECT_THAT(csv->rows[0].fields, ElementsAre("1,\n\"2\"", "3"));
  EXPECT_THAT(csv->rows[1].fields, ElementsAre("4", ""));
  EXPECT_EQ(csv->rows[1].line, 5);
}

TEST(Csv, MistakesNameTheirPlace) {
  EXPECT_EQ(ParseCsv("f", "a,b\n1\n").error()[0].message, "1 fields, where the header has 2");
  EXPECT_EQ(ParseCsv("f", "a,b\n1\n").error()[0].span.line, 2);
  EXPECT_EQ(ParseCsv("f", "a,b\n\"1,2\n").error()[0].code, "open-quote");
  EXPECT_EQ(ParseCsv("f", "").error()[0].code, "no-header");
}

TEST(PriceList, TheLeastOfAllRegionsOnDemandAndSpot) {
  const auto records =
      Read(std::string(kGpuhunt) +
           "m,eu,2.5,8,64,2,A100,80,False,acme\nm,us,2.0,8,64,2,A100,80,False,acme\n"
           "m,us,0.9,8,64,2,A100,80,True,acme\n");
  ASSERT_EQ(records.size(), 1u);
  const spec::Offer& offer = records[0].offer;
  EXPECT_EQ(offer.id, "acme-m");
  EXPECT_EQ(offer.gpu_id, "a100-sxm-80");
  EXPECT_EQ(offer.gpus, 2);
  EXPECT_DOUBLE_EQ(InDollarsPerHour(*offer.price).value(), 2.0);
  EXPECT_DOUBLE_EQ(InDollarsPerHour(*offer.spot_price).value(), 0.9);
  EXPECT_EQ(offer.region, "us");
  EXPECT_EQ(offer.price_date, "2026-11-20");
  EXPECT_EQ(offer.host_memory, Bytes(64 * kGB.value()));
}

TEST(PriceList, SkyPilotSaysTheMemoryInItsGpuInfo) {
  const auto records =
      Read(std::string(kSkyPilot) +
           "v,V100,8.0,88.0,448.0,6.32,us,\"{'Gpus': [{'MemoryInfo': {'SizeInMiB': "
           "32768}}]}\",1.5\n");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].offer.gpu_id, "v100-sxm2-32");
  EXPECT_EQ(records[0].offer.host_memory, BytesFromGiB(448));
  EXPECT_DOUBLE_EQ(InDollarsPerHour(*records[0].offer.spot_price).value(), 1.5);
}

TEST(PriceList, WhatIsKnownOfAMachineIsKept) {
  const auto records =
      Read(std::string(kGpuhunt) + "p5.48xlarge,us,50,192,2048,8,H100,80,False,aws\n");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].offer.id, "aws-p5.48xlarge");
  EXPECT_DOUBLE_EQ(InDollarsPerHour(*records[0].offer.price).value(), 50);
  EXPECT_EQ(records[0].offer.intra_node_link, "nvlink4");
}

TEST(PriceList, RowsThatCannotBeUsedAreCounted) {
  const Expected<ImportedPrices> prices =
      Import(std::string(kSkyPilot) +
             "c,,,4,16,0.2,us,,\n,A100,1,,,2.9,us,,\nx,Voodoo2,1,8,32,1,us,,\n"
             "y,T4,1,8,32,,us,,\n");
  ASSERT_TRUE(prices.has_value());
  EXPECT_EQ(prices->machines, 0);
  EXPECT_EQ(prices->rows, 4);
  EXPECT_THAT(prices->skipped,
              ElementsAre(Pair(HasSubstr("without its machine"), 1), Pair("no GPU", 1),
                          Pair("no price", 1), Pair("unknown GPU Voodoo2", 1)));
}

TEST(PriceList, MistakesNameTheirLine) {
  const Expected<ImportedPrices> prices =
      Import(std::string(kGpuhunt) + "m,us,cheap,8,64,1,T4,16,False,acme\n");
  EXPECT_EQ(prices.error()[0].message, "price: \"cheap\" is not a number");
  EXPECT_EQ(prices.error()[0].span.line, 2);
  EXPECT_EQ(Import("a,b\n1,2\n").error()[0].code, "unknown-price-list");
}

}  // namespace
}  // namespace trainfit::catalog
