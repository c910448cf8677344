#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace trainfit {
namespace {

TEST(JsonWriter, IndentsAndKeepsTheOrderOfTheCalls) {
  JsonWriter json;
  json.BeginObject().Field("zeta", 1).Field("alpha", "text").Key("list").BeginArray();
  json.Int(1).Bool(true).Null().BeginObject().EndObject().BeginArray().EndArray().EndArray();
  json.Field("bytes", kGiB).Field("flag", false).EndObject();
  EXPECT_EQ(json.Take(),
            "{\n"
            "  \"zeta\": 1,\n"
            "  \"alpha\": \"text\",\n"
            "  \"list\": [\n"
            "    1,\n"
            "    true,\n"
            "    null,\n"
            "    {},\n"
            "    []\n"
            "  ],\n"
            "  \"bytes\": 1073741824,\n"
            "  \"flag\": false\n"
            "}\n");
}

TEST(JsonWriter, OneLineWithoutIndent) {
  JsonWriter json(0);
  json.BeginObject().Field("a", 1).Key("b").BeginArray().Double(0.5).String("x").EndArray();
  json.EndObject();
  EXPECT_EQ(json.Take(), R"({"a":1,"b":[0.5,"x"]})");
}

std::string Written(double value) { return JsonWriter(0).Double(value).Take(); }
std::string Written(std::string_view value) { return JsonWriter(0).String(value).Take(); }

TEST(JsonWriter, DoublesAreShortAndReadBackUnchanged) {
  EXPECT_EQ(Written(0.1), "0.1");
  EXPECT_EQ(Written(1.0), "1");
  EXPECT_EQ(Written(1e300), "1e+300");
  EXPECT_EQ(Written(-0.0), "-0.0");
  const double hard[] = {1.0 / 3, 5e-324, std::numeric_limits<double>::max(), 123456789.125, 1e22};
  for (const double value : hard) EXPECT_EQ(std::strtod(Written(value).c_str(), nullptr), value);
}

TEST(JsonWriter, IntegersKeepAllDigits) {
  EXPECT_EQ(JsonWriter(0).Int(std::numeric_limits<std::int64_t>::min()).Take(),
            "-9223372036854775808");
}

TEST(JsonWriter, EscapesStrings) {
  EXPECT_EQ(Written("a\"b\\c/\n\r\t"), R"("a\"b\\c/\n\r\t")");
  EXPECT_EQ(Written(std::string_view("\0\x1b\x7f", 3)), "\"\\u0000\\u001b\\u007f\"");
  EXPECT_EQ(Written("\u6a21\U0001F600"), "\"\u6a21\U0001F600\"");
}

TEST(JsonWriter, ReplacesInvalidUtf8ByteByByte) {
  EXPECT_EQ(Written("a\xff\xc3z"), "\"a\ufffd\ufffdz\"");
  EXPECT_EQ(Written("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"");
}

TEST(JsonWriter, CanBeUsedAgainAfterTake) {
  JsonWriter json(0);
  EXPECT_EQ(json.Int(1).Take(), "1");
  EXPECT_EQ(json.Int(2).Take(), "2");
}

TEST(JsonWriterDeathTest, MisuseIsAProgrammersMistake) {
  EXPECT_DEATH(JsonWriter().BeginObject().Int(1), "");
  EXPECT_DEATH(JsonWriter().BeginArray().Key("k"), "");
  EXPECT_DEATH(JsonWriter().Key("k"), "");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("k").Key("k"), "");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("k").EndObject(), "");
  EXPECT_DEATH(JsonWriter().BeginObject().EndArray(), "");
  EXPECT_DEATH(JsonWriter().EndObject(), "");
  EXPECT_DEATH(JsonWriter().Int(1).Int(2), "");
  EXPECT_DEATH(JsonWriter().BeginArray().Take(), "");
  EXPECT_DEATH(JsonWriter().Take(), "");
  EXPECT_DEATH(JsonWriter().Double(std::nan("")), "");
  EXPECT_DEATH(JsonWriter().Double(std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace trainfit
