#include "report/listing.h"

#include <gtest/gtest.h>

#include "report/sheet.h"

namespace trainfit::report {
namespace {

Listing Cards() {
  Listing listing;
  listing.schema = "trainfit.gpus/1";
  listing.things = "GPUs";
  listing.columns = {{"id", "GPU", ""},
                     {"bandwidth", "GB/s", "memory bandwidth", 0},
                     {"price", "$/h", "", 2, true},
                     {"has_bf16", "BF16", ""}};
  listing.shown = {0, 1, 2};
  listing.known = 3;
  listing.rows = {{{std::string("h100, \"sxm\""), 3350.4, 2.4, true}, false},
                  {{std::string("t4"), std::int64_t{320}, 0.29, false}, true},
                  {{std::string("b100"), {}, {}, {}}, false}};
  return listing;
}

TEST(Listing, NumbersStandUnderEachOtherAndOldPricesAreMarked) {
  EXPECT_EQ(ListingText(Cards(), {}),
            "GPU           GB/s   $/h\n"
            "h100, \"sxm\"  3,350  2.40\n"
            "t4             320  0.29*\n"
            "b100             ?     ?\n"
            "\n"
            "3 of 3 GPUs\n"
            "  GB/s: memory bandwidth\n"
            "  *: price older than 60 days\n");
}

TEST(Listing, CsvQuotesAndLeavesTheUnknownEmpty) {
  EXPECT_EQ(ListingCsv(Cards()),
            "id,bandwidth,price,has_bf16\n"
            "\"h100, \"\"sxm\"\"\",3350.4,2.4,true\n"
            "t4,320,0.29,false\n"
            "b100,,,\n");
}

TEST(Listing, ChosenColumnsAloneAreWritten) {
  Listing listing = Cards();
  listing.shown = {0, 3};
  listing.is_shown_chosen = true;
  listing.rows.resize(1);
  EXPECT_EQ(ListingJson(listing),
            "{\n  \"schema\": \"trainfit.gpus/1\",\n  \"rows\": [\n    {\n"
            "      \"id\": \"h100, \\\"sxm\\\"\",\n      \"has_bf16\": true\n    }\n  ],\n"
            "  \"notes\": []\n}\n");
}

TEST(Listing, ANarrowScreenShowsFewerColumns) {
  Listing listing = Cards();
  listing.rows[0].values[0] = std::string(50, 'x');
  TextOptions narrow;
  narrow.width = 60;
  EXPECT_EQ(ListingText(listing, narrow).find("$/h"), std::string::npos);
  listing.is_shown_chosen = true;
  EXPECT_NE(ListingText(listing, narrow).find("$/h"), std::string::npos);
}

TEST(Sheet, SectionsWithoutContentAreLeftOut) {
  const Sheet sheet{
      "One card",
      {{"memory", {{"printed", "24 GB"}}, {}}, {"none", {}, {}}, {"notes", {}, {"a sentence"}}},
      ""};
  EXPECT_EQ(SheetText(sheet, {}),
            "One card\n\nmemory\n  printed                     24 GB\n\nnotes\n  - a sentence\n");
}

}  // namespace
}  // namespace trainfit::report
