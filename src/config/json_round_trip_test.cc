// What base/json_writer writes, the reader reads back unchanged.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/json_writer.h"
#include "config/json_reader.h"

namespace trainfit::config {
namespace {

Node ReadBack(JsonWriter& json) { return ParseJson("t", json.Take()).value(); }

RC_GTEST_PROP(JsonRoundTrip, Doubles, (std::uint64_t bits)) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  RC_PRE(std::isfinite(value));
  JsonWriter json(0);
  const Node node = ReadBack(json.Double(value));
  RC_ASSERT(node.IsNumber());
  RC_ASSERT(std::memcmp(&node.real, &value, sizeof(value)) == 0);
}

RC_GTEST_PROP(JsonRoundTrip, Integers, (std::int64_t value)) {
  JsonWriter json(0);
  const Node node = ReadBack(json.Int(value));
  RC_ASSERT(node.kind == NodeKind::kInt);
  RC_ASSERT(node.integer == value);
}

RC_GTEST_PROP(JsonRoundTrip, Strings, (std::string value)) {
  for (char& c : value) c = static_cast<char>(c & 0x7F);  // any ASCII, controls too
  value += "\u00e9\u6a21\U0001F600";
  JsonWriter json;
  const Node node = ReadBack(json.BeginObject().Field(value, value).EndObject());
  RC_ASSERT(node.members.size() == 1u);
  RC_ASSERT(node.members[0].key == value);
  RC_ASSERT(node.members[0].value.text == value);
}

TEST(JsonRoundTrip, EdgesOfTheNumbers) {
  for (const double value : {0.0, -0.0, 5e-324, -std::numeric_limits<double>::max(), 1e15, 1e16,
                             9007199254740993.0, 1.0 / 3}) {
    JsonWriter json(0);
    const Node node = ReadBack(json.Double(value));
    EXPECT_EQ(node.real, value);
    EXPECT_EQ(std::signbit(node.real), std::signbit(value));
  }
}

TEST(JsonRoundTrip, Nesting) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().Null().Bool(false).BeginObject().EndObject().EndArray();
  const Node node = ReadBack(json.EndObject());
  EXPECT_EQ(node.Find("a")->items[1].kind, NodeKind::kBool);
  EXPECT_EQ(node.Find("a")->items[2].kind, NodeKind::kObject);
}

}  // namespace
}  // namespace trainfit::config
