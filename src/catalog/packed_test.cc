#include "catalog/packed.h"

#include <gtest/gtest.h>

#include "catalog/embedded.h"
#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

TEST(PackedTest, UnpackingGivesBackWhatWasPacked) {
  InstanceRecord record;
  record.offer.id = "lab";
  record.offer.gpus = 3;
  record.offer.price = PerHour(Dollars(1.25));
  record.offer.host_memory = 7 * kGiB;
  record.sold_per_gpu = true;
  record.notes = {"a", "", std::string(1000, 'x')};
  const InstanceRecord back = Unpack<InstanceRecord>(Pack(record));
  EXPECT_EQ(back.offer.id, "lab");
  EXPECT_EQ(back.offer.gpus, 3);
  EXPECT_EQ(back.offer.price, record.offer.price);
  EXPECT_EQ(back.offer.spot_price, std::nullopt);
  EXPECT_EQ(back.offer.host_memory, 7 * kGiB);
  EXPECT_EQ(back.offer.local_disk, std::nullopt);
  EXPECT_TRUE(back.sold_per_gpu);
  EXPECT_FALSE(back.ram_is_gpu_memory);
  EXPECT_EQ(back.notes, record.notes);
  EXPECT_EQ(Pack(back), Pack(record));
}

// What the build stored is what the reader makes of the JSON beside it.
TEST(PackedTest, TheBuiltInRecordsAreThoseOfTheirJson) {
  const EmbeddedData& data = Embedded();
  const auto node_of = [&](const EmbeddedRecord& record) {
    const auto node = config::ParseJson("data", std::string(data.Text(record.json)));
    EXPECT_TRUE(node);
    return *node;
  };
  for (const EmbeddedRecord& record : data.Of(Kind::kGpu).records) {
    const auto gpu = ReadGpu(node_of(record));
    ASSERT_TRUE(gpu) << data.Text(record.id);
    EXPECT_EQ(Pack(*gpu), data.Text(record.packed)) << data.Text(record.id);
    EXPECT_EQ(Pack(Unpack<GpuRecord>(data.Text(record.packed))), data.Text(record.packed));
  }
  for (const EmbeddedRecord& record : data.Of(Kind::kInstance).records) {
    const auto instance = ReadInstance(node_of(record));
    ASSERT_TRUE(instance) << data.Text(record.id);
    EXPECT_EQ(Pack(*instance), data.Text(record.packed)) << data.Text(record.id);
    const std::uint16_t gpu = record.gpu;
    EXPECT_EQ(data.Text(data.Of(Kind::kGpu).records[gpu].id), instance->offer.gpu_id);
  }
  for (const EmbeddedRecord& record : data.Of(Kind::kLink).records) {
    const auto link = ReadLink(node_of(record));
    ASSERT_TRUE(link) << data.Text(record.id);
    EXPECT_EQ(Pack(*link), data.Text(record.packed)) << data.Text(record.id);
  }
}

}  // namespace
}  // namespace trainfit::catalog
