#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/json_writer.h"
#include "base/numeral.h"
#include "validate/rules.h"

namespace trainfit::validate {
namespace {

// Four digits that count, commas above a thousand.
std::string NumberText(double value) {
  if (value != 0 && std::abs(value) < 0.001) return fmt::format("{:.2g}", value);
  const int before = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(4 - before, 0, 3));
  const std::size_t point = text.find('.');
  if (point != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  std::size_t at = std::min(text.find('.'), text.size());
  while (at > (value < 0 ? 4u : 3u)) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string ValueText(const RuleValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return NumberText(*number);
  std::string text = std::get<std::string>(value);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string StatedText(const Rule& rule) {
  const std::optional<double> number = ParseDecimal(rule.stated);
  return ValueText(number ? RuleValue(*number) : RuleValue(rule.stated));
}

std::string DifferenceText(const Rule& rule, const RuleValue& value) {
  const auto* exact = std::get_if<double>(&value);
  const std::optional<double> stated = ParseDecimal(rule.stated);
  if (exact == nullptr) return std::get<std::string>(value) == rule.stated ? "none" : "differs";
  if (!stated) return "differs";
  if (*stated == 0) return *exact == 0 ? "none" : NumberText(*exact);
  const double percent = 100 * (*exact - *stated) / *stated;
  if (std::abs(percent) < 0.05) return "none";
  return fmt::format("{:+.1f} %", percent);
}

std::string WithUnit(std::string text, const std::string& unit) {
  return unit.empty() ? text : std::move(text) + " " + unit;
}

}  // namespace

std::string RulesPage(const std::vector<Rule>& rules, const std::vector<RuleValue>& values) {
  std::string text =
      "# Rules of thumb, and what they are exactly\n\n"
      "Figures and rules that lessons on training hardware teach, each beside the value that\n"
      "trainfit computes: from the shapes of the model's tensors, from the simulated run of the\n"
      "current Hugging Face stack, or from the sourced data. `tools/rules_of_thumb` writes this\n"
      "page from `tests/truth/seeds.jsonl`; a test fails when a value moves.\n";
  std::string section;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (!rule.waits_for.empty()) continue;
    if (rule.section != section) {
      section = rule.section;
      text += "\n## " + section +
              "\n\n| rule | stated | exact | difference | reason |\n| --- | ---: | ---: | ---: | "
              "--- |\n";
    }
    text += fmt::format(
        "| {} | {} | {} | {} | {} |\n", rule.rule, WithUnit(StatedText(rule), rule.unit),
        WithUnit(ValueText(values[i]), rule.unit), DifferenceText(rule, values[i]), rule.reason);
  }
  text += "\n## Not computed yet\n\n| rule | stated | waits for |\n| --- | --- | --- |\n";
  for (const Rule& rule : rules) {
    if (rule.waits_for.empty()) continue;
    text += fmt::format("| {} | {} | {} |\n", rule.rule, WithUnit(rule.stated, rule.unit),
                        rule.waits_for);
  }
  return text;
}

std::string RulesJson(const std::vector<Rule>& rules, const std::vector<RuleValue>& values) {
  JsonWriter json;
  json.BeginObject();
  json.Key("rules").BeginArray();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].waits_for.empty()) continue;
    json.BeginObject();
    json.Field("id", rules[i].id);
    json.Key("exact");
    if (const auto* number = std::get_if<double>(&values[i])) {
      json.Double(*number);
    } else {
      json.String(std::get<std::string>(values[i]));
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace trainfit::validate
