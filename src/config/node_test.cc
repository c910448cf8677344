#include "config/node.h"

#include <gtest/gtest.h>

#include <limits>

#include "config/json_reader.h"

namespace trainfit::config {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int64_t>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();

Node Parsed(const std::string& text) {
  return ParseJson("c.json", text, {.allow_non_finite = true}).value();
}

template <typename T>
std::string ErrorOf(const Expected<T>& result) {
  if (result.has_value()) return "no error";
  std::string rendered;
  for (const Diagnostic& problem : result.error()) rendered += RenderText(problem);
  return rendered;
}

TEST(Get, ReadsWhatIsThere) {
  const Node node = Parsed(R"({"i": 4096, "d": 0.5, "b": true, "s": "bf16", "e": 1e6, "n": null})");
  EXPECT_EQ(GetInt(node, "i", 1, 5000), 4096);
  EXPECT_EQ(GetInt(node, "e", 1, kIntMax), 1'000'000);
  EXPECT_EQ(GetDouble(node, "i", 0, 5000), 4096.0);
  EXPECT_EQ(GetDouble(node, "d", 0, 1), 0.5);
  EXPECT_EQ(GetBoolOr(node, "b", false), true);
  EXPECT_EQ(GetString(node, "s"), "bf16");
}

TEST(Get, FallsBackWhenAbsentOrNull) {
  const Node node = Parsed(R"({"n": null})");
  for (const char* key : {"n", "absent"}) {
    EXPECT_EQ(GetIntOr(node, key, 1, 9, -1), -1);
    EXPECT_EQ(GetDoubleOr(node, key, 1, 9, -0.5), -0.5);
    EXPECT_EQ(GetBoolOr(node, key, true), true);
    EXPECT_EQ(GetStringOr(node, key, "f"), "f");
  }
}

TEST(GetErrors, MissingKeyWithTheNearOneThatIsThere) {
  const Node node = Parsed("{\n  \"hiden_size\": 4096}");
  EXPECT_EQ(ErrorOf(GetInt(node, "hidden_size", 1, 9)),
            "c.json:1:1: error: \"hidden_size\" is missing\n"
            "  {\n"
            "  ^\n"
            "  try: \"hidden_size\" instead of \"hiden_size\"\n");
  EXPECT_EQ(ErrorOf(GetString(node, "model_type")),
            "c.json:1:1: error: \"model_type\" is missing\n"
            "  {\n"
            "  ^\n");
}

TEST(GetErrors, WrongTypes) {
  const Node node = Parsed(R"({"i": "4096", "d": 0.5, "b": 1, "s": [], "o": {}, "n": null})");
  EXPECT_EQ(ErrorOf(GetInt(node, "i", 1, 9)),
            "c.json:1:7: error: \"i\" must be a whole number, found the string \"4096\"\n"
            "  {\"i\": \"4096\", \"d\": 0.5, \"b\": 1, \"s\": [], \"o\": {}, \"n\": null}\n"
            "        ^~~~~~\n"
            "  try: 4096 without the quotes\n");
  EXPECT_EQ(ErrorOf(GetInt(node, "d", 1, 9)),
            "c.json:1:20: error: \"d\" must be a whole number, found 0.5\n"
            "  {\"i\": \"4096\", \"d\": 0.5, \"b\": 1, \"s\": [], \"o\": {}, \"n\": null}\n"
            "                     ^~~\n");
  const auto message = [](const auto& result) {
    return result.has_value() ? "no error" : result.error()[0].message;
  };
  EXPECT_EQ(message(GetBoolOr(node, "b", false)), "\"b\" must be true or false, found 1");
  EXPECT_EQ(message(GetString(node, "s")), "\"s\" must be a string, found an array");
  EXPECT_EQ(message(GetDouble(node, "o", 0, 1)), "\"o\" must be a number, found an object");
  EXPECT_EQ(message(GetInt(node, "n", 0, 1)), "\"n\" must be a whole number, found null");
  EXPECT_EQ(message(GetIntOr(Parsed("[1]"), "i", 0, 1, 0)),
            "expected an object with \"i\", found an array");
}

TEST(GetErrors, Ranges) {
  const Node node = Parsed(R"({"i": -3, "d": 2.5, "big": 1000000000000000019884624838656,
                              "inf": Infinity, "nan": NaN})");
  const auto message = [](const auto& result) {
    return result.has_value() ? "no error" : result.error()[0].message;
  };
  EXPECT_EQ(message(GetInt(node, "i", 1, 128)), "\"i\" must be from 1 to 128, found -3");
  EXPECT_EQ(message(GetInt(node, "i", 1, kIntMax)), "\"i\" must be at least 1, found -3");
  EXPECT_EQ(message(GetDouble(node, "d", -kInf, 1)), "\"d\" must be at most 1, found 2.5");
  EXPECT_EQ(message(GetInt(node, "big", 1, kIntMax)),
            "\"big\" must be at least 1, found 1000000000000000019884624838656");
  EXPECT_EQ(message(GetInt(node, "inf", 1, 9)), "\"inf\" must be from 1 to 9, found Infinity");
  EXPECT_EQ(message(GetInt(node, "nan", 1, 9)), "\"nan\" must be a whole number, found NaN");
  EXPECT_EQ(message(GetDouble(node, "inf", 0, 1e9)),
            "\"inf\" must be from 0 to 1000000000, found Infinity");
  EXPECT_EQ(message(GetDouble(node, "nan", 0, 1)), "\"nan\" must be from 0 to 1, found NaN");
  EXPECT_EQ(message(GetDouble(node, "nan", -kInf, kInf)),
            "\"nan\" must be a number that can be held, found NaN");
}

TEST(Node, WithoutADocumentItStandsNowhere) {
  const Node node;
  EXPECT_EQ(node.Span(), SourceSpan());
  EXPECT_EQ(ErrorOf(GetInt(node, "i", 0, 1)), "error: expected an object with \"i\", found null\n");
}

}  // namespace
}  // namespace trainfit::config
