// The figures and rules of two lessons on training hardware, each computed by the product.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/file_reader.h"
#include "validate/rules.h"

namespace trainfit::validate {
namespace {

constexpr const char* kFile = "tests/truth/seeds.jsonl";

std::string Rendered(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += RenderText(diagnostic);
  return text;
}

std::vector<Rule> Seeds() {
  const Expected<std::string> text = config::ReadTextFile(kFile);
  EXPECT_TRUE(text.has_value());
  Expected<std::vector<Rule>> rules = ReadRules(kFile, *text);
  EXPECT_TRUE(rules.has_value()) << Rendered(rules.error());
  return *std::move(rules);
}

TEST(Seeds, EveryRuleIsWhatIsRecorded) {
  const catalog::Catalog catalog;
  for (const Rule& rule : Seeds()) {
    if (!rule.waits_for.empty()) continue;
    const Expected<RuleValue> value = ComputeRule(catalog, rule.compute);
    ASSERT_TRUE(value.has_value()) << rule.id << ": " << Rendered(value.error());
    const std::string advice =
        rule.id + ": if the new value is right, run tools/rules_of_thumb --update and review it";
    if (const auto* number = std::get_if<double>(&*value)) {
      EXPECT_NEAR(*number, rule.exact.real, 1e-9 * std::abs(*number)) << advice;
    } else {
      EXPECT_EQ(std::get<std::string>(*value), rule.exact.text) << advice;
    }
  }
}

TEST(Seeds, EveryRuleHasItsReasonAndItsOwnName) {
  std::set<std::string> ids;
  for (const Rule& rule : Seeds()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(rule.stated.empty()) << rule.id;
    EXPECT_FALSE(rule.reason.empty() && rule.waits_for.empty()) << rule.id;
  }
}

TEST(Seeds, ThePageIsUpToDate) {
  const std::vector<Rule> rules = Seeds();
  const auto values = ComputeRules(catalog::Catalog(), rules);
  ASSERT_TRUE(values.has_value()) << Rendered(values.error());
  EXPECT_EQ(RulesPage(rules, *values), *config::ReadTextFile("docs/rules-of-thumb.md"))
      << "run tools/rules_of_thumb";
}

TEST(Seeds, MistakesInAnExpressionAreErrors) {
  const catalog::Catalog catalog;
  const auto error = [&](const std::string& text) {
    const Expected<std::vector<Rule>> rules = ReadRules("rules", text);
    if (!rules) return rules.error()[0].message;
    const auto value = ComputeRule(catalog, (*rules)[0].compute);
    return value ? "no error" : value.error()[0].message;
  };
  const std::string begin = R"({"id": "a", "section": "s", "rule": "r", )";
  EXPECT_EQ(error(begin + R"("compute": {"op": "/", "of": [1, 0]}})"), "cannot do \"/\"");
  EXPECT_EQ(error(begin + R"("compute": {"gpu": "none", "fact": "id"}})"),
            "no GPU has the id \"none\"");
  EXPECT_EQ(error(begin + R"("compute": {}})"), "this is no expression");
  EXPECT_EQ(error(begin + R"("stated": 1})"), "a rule has either \"compute\" or \"waits_for\"");
}

}  // namespace
}  // namespace trainfit::validate
