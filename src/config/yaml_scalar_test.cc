#include "config/yaml_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace trainfit::config {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The expectations below were read off yaml.safe_load of PyYAML 6.0.3.
YamlScalar Int(std::int64_t value) {
  return {.kind = NodeKind::kInt, .integer = value, .real = static_cast<double>(value)};
}
YamlScalar Double(double value) { return {.kind = NodeKind::kDouble, .real = value}; }

TEST(ResolveYamlScalar, Booleans) {
  for (const char* word : {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    EXPECT_EQ(ResolveYamlScalar(word), (YamlScalar{.kind = NodeKind::kBool, .boolean = true}));
  }
  for (const char* word : {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    EXPECT_EQ(ResolveYamlScalar(word), (YamlScalar{.kind = NodeKind::kBool}));
  }
}

TEST(ResolveYamlScalar, Null) {
  for (const char* word : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_EQ(ResolveYamlScalar(word), (YamlScalar{.kind = NodeKind::kNull}));
  }
}

TEST(ResolveYamlScalar, Integers) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0", 0},
      {"-0", 0},
      {"+12", 12},
      {"1_000_000", 1'000'000},
      {"010", 8},
      {"0_7", 7},
      {"0b1010", 10},
      {"-0b11", -3},
      {"0x1F", 31},
      {"0xff_ff", 65535},
      {"1:30", 90},
      {"1:00:00", 3600},
      {"-190:20:30", -685230},
      {"9223372036854775807", 9223372036854775807}};
  for (const auto& [text, value] : cases) EXPECT_EQ(ResolveYamlScalar(text), Int(value)) << text;
  EXPECT_EQ(ResolveYamlScalar("9223372036854775808"), Double(9223372036854775808.0));
  EXPECT_EQ(ResolveYamlScalar("-0x8000000000000000"),
            Int(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(ResolveYamlScalar("0x10000000000000000"), Double(18446744073709551616.0));
}

TEST(ResolveYamlScalar, Floats) {
  const std::pair<const char*, double> cases[] = {
      {"1.5", 1.5},     {"-1.5", -1.5}, {"+1.5", 1.5},      {"1.", 1},        {".5", 0.5},
      {"1.0e-4", 1e-4}, {"1.E+5", 1e5}, {"1_0.2_5", 10.25}, {"1:30.5", 90.5}, {"1.0e+999", kInf},
      {"1.0e-999", 0},  {".inf", kInf}, {"-.INF", -kInf},   {"+.Inf", kInf},  {"08.5", 8.5}};
  for (const auto& [text, value] : cases) EXPECT_EQ(ResolveYamlScalar(text), Double(value)) << text;
  EXPECT_TRUE(std::isnan(ResolveYamlScalar(".nan").real));
}

TEST(ResolveYamlScalar, WhatLooksLikeANumberAndIsText) {
  for (const char* text :
       {"1e-4", "1.5e5", "2e5",  "-.5",        "08",    "0o10",  "1__",    "_1",    "0b",
        "0b2",  "0xg",   "1:60", "1:",         ":30",   "1.2.3", "1.5e",   "1.5e+", "-",
        "+",    ".",     ".e+5", "._5",        "1,000", "10k",   "y",      "n",     "tRue",
        "nan",  "inf",   ".iNf", "2024-01-01", "0x",    "-.nan", "1:2:3:", "1:123"}) {
    const bool is_text = std::string(text) != "1__";
    EXPECT_EQ(ResolveYamlScalar(text).kind, is_text ? NodeKind::kString : NodeKind::kInt) << text;
  }
}

TEST(ResolveYamlScalarAs, ExplicitTags) {
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kInt, "12"), Int(12));
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kInt, "1.5"), std::nullopt);
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kDouble, "1"), Double(1));
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kDouble, "-1e-4"), Double(-1e-4));
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kDouble, "fast"), std::nullopt);
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kDouble, "infinity"), std::nullopt);
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kBool, "on"),
            (YamlScalar{.kind = NodeKind::kBool, .boolean = true}));
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kBool, "1"), std::nullopt);
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kNull, "x"), std::nullopt);
  EXPECT_EQ(ResolveYamlScalarAs(NodeKind::kString, "12"), YamlScalar{});
}

}  // namespace
}  // namespace trainfit::config
