#include "catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename T>
std::string ErrorsOf(const Expected<T>& value) {
  std::string text;
  if (value) return "no error";
  for (const Diagnostic& error : value.error()) text += RenderText(error);
  return text;
}

// The id that a GPU name leads to, or the errors.
std::string GpuId(std::string_view name, std::optional<Bytes> reported = {}) {
  const auto match = Catalog().FindGpu(name, reported);
  return match ? match->record.gpu.id : ErrorsOf(match);
}

std::string ModelId(std::string_view name) {
  const auto match = Catalog().FindModel(name);
  return match ? match->record.id : ErrorsOf(match);
}

TEST(CatalogTest, EverythingLoads) {
  const Catalog catalog;
  const auto gpus = catalog.ListGpus();
  ASSERT_TRUE(gpus) << ErrorsOf(gpus);
  EXPECT_THAT(*gpus, SizeIs(151));
  const auto instances = catalog.ListInstances();
  ASSERT_TRUE(instances) << ErrorsOf(instances);
  EXPECT_THAT(*instances, SizeIs(241));
  for (const InstanceRecord& instance : *instances) {
    EXPECT_EQ(GpuId(instance.offer.gpu_id), instance.offer.gpu_id);
    if (!instance.offer.intra_node_link.empty()) {
      EXPECT_TRUE(catalog.FindLink(instance.offer.intra_node_link)) << instance.offer.id;
    }
    EXPECT_EQ(instance.offer.gpus % instance.systems, 0) << instance.offer.id;
  }
  EXPECT_THAT(catalog.Ids(Kind::kLink), SizeIs(62));
  for (const std::string& id : catalog.Ids(Kind::kLink)) {
    const auto link = catalog.FindLink(id);
    ASSERT_TRUE(link) << ErrorsOf(link);
    EXPECT_EQ(link->record.id, id);
  }
  EXPECT_THAT(catalog.Ids(Kind::kModel), SizeIs(237));
  for (const std::string& id : catalog.Ids(Kind::kModel)) {
    const auto model = catalog.FindModel(id);
    ASSERT_TRUE(model) << ErrorsOf(model);
    EXPECT_EQ(model->record.id, id);
    EXPECT_GT(model->record.params, 0) << id;
    EXPECT_THAT(model->assumptions, IsEmpty()) << id;
  }
}

TEST(CatalogTest, EveryIdFindsItself) {
  const Catalog catalog;
  for (const std::string& id : catalog.Ids(Kind::kGpu)) EXPECT_EQ(GpuId(id), id);
  for (const std::string& id : catalog.Ids(Kind::kInstance)) {
    const auto match = catalog.FindInstance(id);
    ASSERT_TRUE(match) << ErrorsOf(match);
    EXPECT_EQ(match->record.offer.id, id);
  }
}

TEST(CatalogTest, NamesThatPeopleType) {
  EXPECT_EQ(GpuId("4090"), "rtx-4090");
  EXPECT_EQ(GpuId("RTX4090"), "rtx-4090");
  EXPECT_EQ(GpuId("Rtx 4070ti Super"), "rtx-4070-ti-super");
  EXPECT_EQ(GpuId("7900XTX"), "rx-7900-xtx");
  EXPECT_EQ(GpuId("A6000"), "rtx-a6000");
  EXPECT_EQ(GpuId("6000 Ada"), "rtx-6000-ada");
  EXPECT_EQ(GpuId("m4 max"), "apple-m4-max");
  EXPECT_EQ(GpuId("MI300"), "mi300x");
  EXPECT_EQ(GpuId("v5e"), "tpu-v5e");
  EXPECT_EQ(GpuId("H100-SXM5-80GB"), "h100-sxm");
  EXPECT_EQ(GpuId("RTX-PRO-6000-Blackwell-Server"), "rtx-pro-6000-server");
}

TEST(CatalogTest, NamesThatDriversPrint) {
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 4090 Laptop GPU"), "rtx-4090-laptop");
  EXPECT_EQ(GpuId("NVIDIA A100-SXM4-80GB"), "a100-sxm-80");
  EXPECT_EQ(GpuId("NVIDIA A100 80GB PCIe"), "a100-pcie-80");
  EXPECT_EQ(GpuId("NVIDIA A100-PCIE-40GB"), "a100-pcie-40");
  EXPECT_EQ(GpuId("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(GpuId("NVIDIA H100 NVL"), "h100-nvl");
  EXPECT_EQ(GpuId("NVIDIA GH200 480GB"), "gh200-96");
  EXPECT_EQ(GpuId("Tesla T4"), "t4");
  EXPECT_EQ(GpuId("Tesla V100-SXM2-32GB"), "v100-sxm2-32");
  EXPECT_EQ(GpuId("NVIDIA RTX 6000 Ada Generation"), "rtx-6000-ada");
  EXPECT_EQ(GpuId("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "rtx-pro-6000");
  EXPECT_EQ(GpuId("AMD Instinct MI300X"), "mi300x");
}

TEST(CatalogTest, ASizeInTheNameDecides) {
  EXPECT_EQ(GpuId("RTX-4090-24GB"), "rtx-4090");
  EXPECT_EQ(GpuId("A40 48GB"), "a40");
  EXPECT_EQ(GpuId("A10-23GB"), "a10");     // as the driver shows it
  EXPECT_EQ(GpuId("B200-183GB"), "b200");  // between 180 and 192
  EXPECT_EQ(GpuId("4060 Ti 16GB"), "rtx-4060-ti-16gb");
  EXPECT_EQ(GpuId("RTX 6000 24GB"), "quadro-rtx-6000");
  EXPECT_EQ(GpuId("RTX 6000 48GB"), "rtx-6000-ada");
  EXPECT_EQ(GpuId("RTX 4090 48GB"),
            "error: \"RTX 4090 48GB\": no such GPU with 48 GB is known\n"
            "  try: rtx-4090 (24 GB)\n");
}

TEST(CatalogTest, TheReportedMemoryDecides) {
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 3060", BytesFromGiB(11.76)), "rtx-3060-12gb");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 3060", BytesFromGiB(8)), "rtx-3060-8gb");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 2060", BytesFromGiB(6)), "rtx-2060");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 2060", BytesFromGiB(11.7)), "rtx-2060-12gb");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 4060 Ti", BytesFromGiB(15.6)), "rtx-4060-ti-16gb");
  // A changed card is still that card.
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 4090", BytesFromGiB(47.5)), "rtx-4090");
}

TEST(CatalogTest, WhatIsAssumedIsSaid) {
  const auto match = Catalog().FindGpu("A100-80");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.gpu.id, "a100-sxm-80");
  EXPECT_THAT(match->assumptions,
              ElementsAre("\"A100-80\" taken as a100-sxm-80 (SXM is the usual form in servers); "
                          "the other is a100-pcie-80"));
  const auto many = Catalog().FindGpu("h100");
  ASSERT_TRUE(many) << ErrorsOf(many);
  EXPECT_THAT(many->assumptions,
              ElementsAre("\"h100\" taken as h100-sxm (SXM is the usual form in servers); others "
                          "are h100-pcie, h100-nvl and h100-sxm-96"));
}

TEST(CatalogTest, AmbiguousNamesListWhatTheyFit) {
  EXPECT_EQ(GpuId("A100"),
            "error: \"A100\" fits several GPUs\n"
            "  try: a100-sxm-40, a100-sxm-80, a100-pcie-40 or a100-pcie-80\n");
  EXPECT_EQ(GpuId("NVIDIA GeForce RTX 4060 Ti"),
            "error: \"NVIDIA GeForce RTX 4060 Ti\" fits several GPUs\n"
            "  try: rtx-4060-ti-8gb or rtx-4060-ti-16gb\n");
}

TEST(CatalogTest, UnknownNamesGetTheNearest) {
  EXPECT_EQ(GpuId("rtx-4900"),
            "error: no GPU is called \"rtx-4900\"\n"
            "  try: rtx-4090, RTX 4000 or RTX 4500\n");
  EXPECT_EQ(GpuId("toaster"), "error: no GPU is called \"toaster\"\n");
  EXPECT_EQ(GpuId(""), "error: no GPU is called \"\"\n");
  EXPECT_EQ(ModelId("Qwen/Qwen3-8C"),
            "error: no model is called \"Qwen/Qwen3-8C\"\n"
            "  try: Qwen/Qwen3-8B, Qwen/Qwen-1_8B or Qwen/Qwen3-4B\n");
}

TEST(CatalogTest, ModelsByManyNames) {
  EXPECT_EQ(ModelId("meta-llama/Llama-3.1-8B"), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(ModelId("llama-3.1-8b"), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(ModelId("Llama 3.1 8B"), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(ModelId("mistral-7b"), "mistralai/Mistral-7B-v0.1");
  EXPECT_EQ(ModelId("https://hub.example/Qwen/Qwen3-0.6B/tree/main"), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(ModelId("gpt2"), "openai-community/gpt2");
  EXPECT_EQ(ModelId("sdxl"), "stabilityai/stable-diffusion-xl-base-1.0/unet");
}

TEST(CatalogTest, AModelOfTheSameShapesIsSaid) {
  const auto match = Catalog().FindModel("Qwen/Qwen2.5-7B-Instruct");
  ASSERT_TRUE(match) << ErrorsOf(match);
  EXPECT_EQ(match->record.id, "Qwen/Qwen2.5-7B");
  EXPECT_THAT(match->assumptions,
              ElementsAre("Qwen/Qwen2.5-7B-Instruct has the tensor shapes of Qwen/Qwen2.5-7B"));
}

TEST(CatalogTest, OffersAreCheapestFirst) {
  const auto offers = Catalog().OffersOf("h100-sxm");
  ASSERT_TRUE(offers) << ErrorsOf(offers);
  double last = 0;
  bool priced = true;
  for (const InstanceRecord& record : *offers) {
    EXPECT_EQ(record.offer.gpu_id, "h100-sxm");
    if (!record.offer.price) {
      priced = false;
      continue;
    }
    EXPECT_TRUE(priced) << "those without a price come last";
    const double per_gpu = record.offer.price->value() / static_cast<double>(record.offer.gpus);
    EXPECT_GE(per_gpu, last);
    last = per_gpu;
  }
  EXPECT_EQ(offers->front().offer.id, "vast-h100-sxm");
}

TEST(CatalogTest, TheCheapestOfferOfEachProvider) {
  const auto offers = Catalog().CheapestOffers("a100-sxm-80");
  ASSERT_TRUE(offers) << ErrorsOf(offers);
  std::vector<std::string> ids;
  for (const InstanceRecord& record : *offers) {
    ids.push_back(record.offer.id);
    EXPECT_FALSE(record.offer.price_date.empty());
  }
  EXPECT_THAT(ids,
              ElementsAre("runpod-community-a100-sxm-80", "vast-a100-sxm-80", "crusoe-a100-sxm-80",
                          "coreweave-a100-8x", "lambda-8x-a100-sxm-80", "aws-p4de.24xlarge",
                          "oci-BM.GPU.A100-v2.8", "azure-ND96amsr_A100_v4", "gcp-a2-ultragpu-1g"));
}

TEST(CatalogTest, OffersOfAnUnknownGpuAreAnError) {
  EXPECT_EQ(ErrorsOf(Catalog().OffersOf("h100-smx")),
            "error: no GPU has the id \"h100-smx\"\n"
            "  try: h100-sxm, b100 or h200-sxm\n");
  const auto none = Catalog().OffersOf("gtx-1080-ti");
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
}

TEST(CatalogTest, FactsAreTheWholeFile) {
  const auto facts = Catalog().Facts(Kind::kGpu, "rtx-4090");
  ASSERT_TRUE(facts) << ErrorsOf(facts);
  EXPECT_EQ(facts->Find("launch_price_usd")->integer, 1600);
  EXPECT_FALSE(Catalog().Facts(Kind::kGpu, "4090"));
}

class UserFileTest : public ::testing::Test {
 protected:
  Diagnostics Add(std::string text) {
    auto node = config::ParseJson("mine.json", std::move(text));
    return node ? catalog_.Add(*node) : node.error();
  }
  std::string Rendered(const Diagnostics& errors) {
    std::string text;
    for (const Diagnostic& error : errors) text += RenderText(error);
    return text;
  }

  static constexpr const char* kFile = R"({
    "gpus": [{"id": "moon-1", "name": "Moon 1", "aliases": ["moon"],
              "memory": {"printed_gb": 64, "printed_unit": "binary", "usable_gib": 63},
              "peak": {"has_bf16": true, "bf16_dense_tflops": 500}}],
    "instances": [{"id": "lab-2x-moon", "provider": "lab", "gpu": "moon-1", "gpu_count": 2},
                  {"id": "aws-p4d.24xlarge", "provider": "AWS", "gpu": "a100-sxm-40",
                   "gpu_count": 8, "price": {"on_demand_usd_per_hour": 8, "date": "2026-12-01"}}]
  })";
  Catalog catalog_;
};

TEST_F(UserFileTest, AddsAndReplaces) {
  EXPECT_EQ(Rendered(Add(kFile)), "");
  const auto gpu = catalog_.FindGpu("MOON");
  ASSERT_TRUE(gpu) << ErrorsOf(gpu);
  EXPECT_EQ(gpu->record.gpu.id, "moon-1");
  EXPECT_EQ(catalog_.Ids(Kind::kGpu).size(), 152);
  EXPECT_EQ(catalog_.Ids(Kind::kInstance).size(), 242);
  const auto offer = catalog_.FindInstance("p4d");
  ASSERT_TRUE(offer) << ErrorsOf(offer);
  EXPECT_EQ(offer->record.offer.price_date, "2026-12-01");
  const auto offers = catalog_.CheapestOffers("a100-sxm-40");
  ASSERT_TRUE(offers) << ErrorsOf(offers);
  EXPECT_NEAR(InDollarsPerHour(*offers->front().offer.price).value(), 8, 1e-9);
  const auto mine = catalog_.OffersOf("moon-1");
  ASSERT_TRUE(mine) << ErrorsOf(mine);
  EXPECT_THAT(*mine, SizeIs(1));
}

TEST_F(UserFileTest, AddingTwiceIsAddingOnce) {
  EXPECT_THAT(Add(kFile), IsEmpty());
  EXPECT_THAT(Add(kFile), IsEmpty());
  EXPECT_EQ(catalog_.Ids(Kind::kGpu).size(), 152);
}

TEST_F(UserFileTest, AMistakeAddsNothing) {
  EXPECT_EQ(Rendered(Add(R"({"gpu": [], "instances": [
  {"id": "a", "provider": "b", "gpu": "rtx-4091", "gpu_count": 1}]})")),
            "mine.json:1:9: error: a catalogue has gpus, instances, links and models, not \"gpu\"\n"
            "  {\"gpu\": [], \"instances\": [\n"
            "          ^~\n"
            "  try: gpus\n"
            "mine.json:2:39: error: no GPU has the id \"rtx-4091\"\n"
            "    {\"id\": \"a\", \"provider\": \"b\", \"gpu\": \"rtx-4091\", \"gpu_count\": 1}]}\n"
            "                                        ^~~~~~~~~~\n"
            "  try: rtx-4090\n");
  EXPECT_EQ(catalog_.Ids(Kind::kInstance).size(), 241);
  EXPECT_THAT(Add("[]"), SizeIs(1));
  EXPECT_THAT(Add(R"({"gpus": {}})"), SizeIs(1));
}

}  // namespace
}  // namespace trainfit::catalog
