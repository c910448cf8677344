#include "api/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainfit::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Ids(const ListRequest& request) {
  const Expected<ListAnswer> answer = List(request);
  EXPECT_TRUE(answer.has_value()) << answer.error()[0].message;
  std::vector<std::string> ids;
  for (const report::ListRow& row : std::get<report::Listing>(*answer).rows) {
    ids.push_back(std::get<std::string>(row.values[0]));
  }
  return ids;
}

std::string Title(const ListRequest& request) {
  const Expected<ListAnswer> answer = List(request);
  EXPECT_TRUE(answer.has_value()) << answer.error()[0].message;
  return std::get<report::Sheet>(*answer).title;
}

Diagnostic ErrorOf(const ListRequest& request) { return List(request).error()[0]; }

TEST(Listing, AllOfAKindWithoutFilter) {
  EXPECT_EQ(Ids({.kind = Kind::kGpu}).size(), 151u);
  EXPECT_EQ(Ids({.kind = Kind::kInstance}).size(), 241u);
  EXPECT_EQ(Ids({.kind = Kind::kLink}).size(), 62u);
  EXPECT_GE(Ids({.kind = Kind::kModel}).size(), 173u);
}

TEST(Listing, NamesAsPeopleAndDriversWriteThem) {
  const std::string title = "GeForce RTX 4090 (rtx-4090)";
  EXPECT_EQ(Title({.filters = {"4090"}}), title);
  EXPECT_EQ(Title({.filters = {"NVIDIA GeForce RTX 4090"}}), title);
  EXPECT_EQ(Title({.filters = {"NVIDIA", "GeForce", "RTX", "4090"}}), title);
  EXPECT_THAT(Title({.filters = {"A100-SXM4-80GB"}}), HasSubstr("(a100-sxm-80)"));
}

TEST(Listing, AnAmbiguousNameGivesItsCandidates) {
  const ListRequest request{.filters = {"A100-80"}, .sort = "id"};
  EXPECT_THAT(Ids(request), ElementsAre("a100-pcie-80", "a100-sxm-80"));
  EXPECT_THAT(std::get<report::Listing>(*List(request)).notes,
              ElementsAre(HasSubstr("taken as a100-sxm-80")));
}

TEST(Listing, ComparisonsAndSorting) {
  EXPECT_THAT(Ids({.filters = {"nvidia", "form=sxm", "memory>=141"}, .sort = "-bandwidth"}),
              ElementsAre("b100", "b200", "b300", "h200-sxm"));
  // What is not known stands last either way, and matches no comparison.
  const std::vector<std::string> down = Ids({.filters = {"vendor=AMD"}, .sort = "-price"});
  const std::vector<std::string> priced = Ids({.filters = {"vendor=AMD", "price>0"}});
  ASSERT_FALSE(priced.empty());
  EXPECT_LT(priced.size(), down.size());
  EXPECT_NE(std::find(priced.begin(), priced.end(), down.front()), priced.end());
}

TEST(Listing, MistakesPointAtWhatWasMeant) {
  EXPECT_EQ(ErrorOf({.filters = {"rtx-4o90"}}).code, "unknown-gpu");
  EXPECT_EQ(ErrorOf({.sort = "memroy"}).suggestion, "memory");
  EXPECT_EQ(ErrorOf({.filters = {"memory>=much"}}).message,
            "memory is compared with a number, not with \"much\"");
  EXPECT_EQ(ErrorOf({.filters = {"vendor>3"}}).suggestion, "vendor=3");
  EXPECT_EQ(ErrorOf({.kind = Kind::kModel, .filters = {"org/none"}}).code, "unknown-model");
}

TEST(Listing, PricesFollowFromTheCheapestOffer) {
  const Expected<ListAnswer> answer =
      List({.filters = {"id=h100-sxm"}, .today = report::Date{2026, 11, 30}});
  const report::Listing& listing = std::get<report::Listing>(*answer);
  const auto value = [&](std::string_view key) {
    for (std::size_t i = 0; i < listing.columns.size(); ++i) {
      if (listing.columns[i].key == key) return std::get<double>(listing.rows[0].values[i]);
    }
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(value("price"), 2.4);
  EXPECT_NEAR(value("price_per_gib"), 2.4 / 79.18, 1e-6);
  EXPECT_NEAR(value("price_per_pflop_hour"), 2.4 / 0.9894, 1e-6);
  EXPECT_NEAR(value("bandwidth_per_dollar"), 3350 / 2.4, 1e-6);
  // Measured products of an H100 reach between 60 and 85 % of its peak.
  EXPECT_GT(value("price_per_delivered_pflop_hour"), value("price_per_pflop_hour") / 0.85);
  EXPECT_LT(value("price_per_delivered_pflop_hour"), value("price_per_pflop_hour") / 0.6);
}

TEST(Listing, AModelInFullCountsItsTensors) {
  const ListRequest request{.kind = Kind::kModel, .filters = {"mistral-7b"}};
  const Expected<ListAnswer> answer = List(request);
  const report::Sheet& sheet = std::get<report::Sheet>(*answer);
  EXPECT_EQ(sheet.title, "mistralai/Mistral-7B-v0.1");
  EXPECT_THAT(sheet.json, HasSubstr("\"params\": 7241732096"));
  EXPECT_THAT(sheet.json, HasSubstr("\"trainable_params\": 7241732096"));
  EXPECT_THAT(sheet.json, HasSubstr("\"layers\": \"0-31\""));
}

}  // namespace
}  // namespace trainfit::api
