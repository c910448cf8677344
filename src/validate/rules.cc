#include "validate/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "catalog/hardware.h"
#include "config/json_reader.h"
#include "frameworks/builder.h"
#include "frameworks/registry.h"
#include "readers/model_config.h"
#include "verdict/judge.h"

namespace trainfit::validate {
namespace {

using catalog::Catalog;
using catalog::Kind;
using config::Node;
using config::NodeKind;

Diagnostic Wrong(const Node& node, std::string message) {
  return ErrorAt(node.Span(), "bad-rule", std::move(message));
}

Expected<std::shared_ptr<const spec::ModelSpec>> ModelOf(const Catalog& catalog,
                                                         const std::string& name) {
  ASSIGN_OR_RETURN(const auto match, catalog.FindModel(name));
  Diagnostics warnings;
  ASSIGN_OR_RETURN(spec::ModelSpec model,
                   readers::ReadModelConfig(match.record.config, match.record.id, &warnings));
  return std::make_shared<const spec::ModelSpec>(std::move(model));
}

Expected<RuleValue> FactOf(const Catalog& catalog, Kind kind, const Node& expression,
                           const std::string& id) {
  ASSIGN_OR_RETURN(const Node record, catalog.Facts(kind, id));
  ASSIGN_OR_RETURN(const std::string path, config::GetString(expression, "fact"));
  const Node* node = &record;
  for (std::string_view rest = path; node != nullptr && !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    node = node->Find(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (node == nullptr) return RuleValue(std::string("none"));  // "it has no NVLink" is a fact too
  if (node->IsNumber()) return RuleValue(node->real);
  if (node->kind == NodeKind::kBool) return RuleValue(std::string(node->boolean ? "yes" : "no"));
  return RuleValue(node->text);
}

// The word's place among the printed names of an enumeration, from its first value on.
template <typename Enum>
Expected<std::optional<Enum>> WordOf(const Node& fit, std::string_view key, Enum last) {
  ASSIGN_OR_RETURN(const std::string word, config::GetStringOr(fit, key, ""));
  if (word.empty()) return std::optional<Enum>();
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (Name(static_cast<Enum>(i)) == word) return std::optional(static_cast<Enum>(i));
  }
  return Fail(Wrong(fit, fmt::format("{} has no value {}", std::string(key), Quoted(word))));
}

Expected<spec::Recipe> RecipeOf(const Node& fit) {
  constexpr std::int64_t kMost = 1 << 20;
  spec::Recipe recipe;
  ASSIGN_OR_RETURN(const auto method, WordOf(fit, "method", spec::Method::kQlora));
  recipe.method = method.value_or(spec::Method::kFull);
  ASSIGN_OR_RETURN(recipe.precision, WordOf(fit, "precision", spec::Precision::kFp16Pure));
  ASSIGN_OR_RETURN(recipe.optimizer, WordOf(fit, "optimizer", spec::Optimizer::kSgdMomentum));
  ASSIGN_OR_RETURN(recipe.sharding, WordOf(fit, "sharding", spec::Sharding::kFsdp2));
  ASSIGN_OR_RETURN(recipe.zero.offload_optimizer,
                   WordOf(fit, "offload_optimizer", spec::Offload::kNvme));
  ASSIGN_OR_RETURN(recipe.zero.offload_param, WordOf(fit, "offload_param", spec::Offload::kNvme));
  ASSIGN_OR_RETURN(const std::int64_t batch, config::GetIntOr(fit, "micro_batch", 1, kMost, 1));
  ASSIGN_OR_RETURN(const std::int64_t length, config::GetIntOr(fit, "seq_len", 1, kMost, 2048));
  recipe.micro_batch = batch;
  recipe.sequence_length = length;
  return recipe;
}

// Of the first rank class; nullptr in phases that do not touch the place.
const verdict::PlaceAnswer* PlaceOf(const verdict::PhaseAnswer& phase, program::Place wanted) {
  for (const verdict::PlaceAnswer& place : phase.ranks.front().places) {
    if (place.place == wanted) return &place;
  }
  return nullptr;
}

// The most of all phases.
Bytes NeedIn(const verdict::Answer& answer, program::Place wanted) {
  Bytes need;
  for (const verdict::PhaseAnswer& phase : answer.phases) {
    if (const auto* place = PlaceOf(phase, wanted)) need = std::max(need, place->bytes.point);
  }
  return need;
}

Expected<RuleValue> FromTime(const verdict::Answer& answer, const Node& what) {
  if (!answer.time.has_value()) return Fail(Wrong(what, answer.time_unknown));
  if (what.text == "step_seconds") return RuleValue(answer.time->point.value());
  if (what.text == "tokens_per_second") return RuleValue(answer.time->tokens_per_second);
  const std::string_view name = std::string_view(what.text).substr(6);  // "share:links"
  for (const auto& [of, share] : answer.time->bound_by) {
    if (of == name) return RuleValue(share);
  }
  return RuleValue(0.0);
}

// What every rank hands to collectives in one step.
class Exchanged : public program::EventSink {
 public:
  void OnEvent(const program::Event& event, const program::Segment& segment) override {
    if (event.kind != program::EventKind::kRun) return;
    const program::Operation& operation =
        segment.operations()[static_cast<std::size_t>(event.slot.index)];
    if (operation.kernel == program::KernelClass::kCollective) bytes += operation.moved;
  }
  Bytes bytes;
};

Expected<RuleValue> ExchangedBytes(const verdict::Answer& answer) {
  Exchanged exchanged;
  const program::Program program = frameworks::BuildProgram(answer.plan);
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    if (phase.phase == program::Phase::kSteadyStep) Walk(*phase.segment, 0, exchanged);
  }
  return RuleValue(static_cast<double>(exchanged.bytes.value()));
}

Expected<RuleValue> FromAnswer(const verdict::Answer& answer, const Node& expression) {
  const Node* what = expression.Find("what");
  if (what == nullptr) return Fail(Wrong(expression, "\"fit\" needs \"what\""));
  if (what->kind == NodeKind::kArray) {
    ASSIGN_OR_RETURN(
        const auto place,
        WordOf(expression, "place", static_cast<program::Place>(program::kPlaceCount - 1)));
    Bytes sum;
    for (const verdict::PhaseAnswer& phase : answer.phases) {
      if (phase.phase != program::Phase::kSteadyStep) continue;
      const auto* answered = PlaceOf(phase, place.value_or(program::Place::kGpu));
      if (answered == nullptr) continue;
      for (const verdict::PartBytes& part : answered->parts) {
        for (const Node& name : what->items) {
          if (name.text == part.name) sum += part.bytes;
        }
      }
    }
    return RuleValue(static_cast<double>(sum.value()));
  }
  if (what->text == "verdict") return RuleValue(std::string(verdict::Name(answer.fit)));
  if (what->text == "need_gb") return RuleValue(InGB(NeedIn(answer, program::Place::kGpu)));
  if (what->text == "need_gib") return RuleValue(InGiB(NeedIn(answer, program::Place::kGpu)));
  if (what->text == "host_gb") return RuleValue(InGB(NeedIn(answer, program::Place::kHost)));
  if (what->text == "pinned_gb") return RuleValue(InGB(NeedIn(answer, program::Place::kPinned)));
  if (what->text == "disk_gb") return RuleValue(InGB(NeedIn(answer, program::Place::kDisk)));
  if (what->text == "exchanged_bytes") return ExchangedBytes(answer);
  if (what->text == "step_seconds" || what->text == "tokens_per_second" ||
      what->text.starts_with("share:")) {
    return FromTime(answer, *what);
  }
  return Fail(Wrong(*what, fmt::format("a case has no {}", Quoted(what->text))));
}

Expected<RuleValue> Judged(const Catalog& catalog, const Node& expression, const Node& fit) {
  verdict::Case question;
  ASSIGN_OR_RETURN(const std::string model, config::GetString(fit, "model"));
  ASSIGN_OR_RETURN(const std::string on, config::GetString(fit, "on"));
  ASSIGN_OR_RETURN(question.recipe, RecipeOf(fit));
  ASSIGN_OR_RETURN(question.model, ModelOf(catalog, model));
  ASSIGN_OR_RETURN(question.machine, catalog::ParseHardware(catalog, on));
  ASSIGN_OR_RETURN(question.facts, frameworks::FindFacts("", ""));
  ASSIGN_OR_RETURN(const verdict::Answer answer, verdict::Judge(question));
  return FromAnswer(answer, expression);
}

Expected<double> Number(const Catalog& catalog, const Node& expression) {
  ASSIGN_OR_RETURN(const RuleValue value, ComputeRule(catalog, expression));
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return Fail(Wrong(expression, "this is a word, where a number is needed"));
}

Expected<RuleValue> Operated(const Catalog& catalog, const Node& expression,
                             const std::string& op) {
  const Node* of = expression.Find("of");
  if (of == nullptr || of->items.empty()) return Fail(Wrong(expression, "\"op\" needs \"of\""));
  ASSIGN_OR_RETURN(double result, Number(catalog, of->items[0]));
  for (std::size_t i = 1; i < of->items.size(); ++i) {
    ASSIGN_OR_RETURN(const double value, Number(catalog, of->items[i]));
    if (op == "+") {
      result += value;
    } else if (op == "-") {
      result -= value;
    } else if (op == "*") {
      result *= value;
    } else if (op == "/" && value != 0) {
      result /= value;
    } else if (op == "min" || op == "max") {
      result = op == "min" ? std::min(result, value) : std::max(result, value);
    } else {
      return Fail(Wrong(expression, fmt::format("cannot do {}", Quoted(op))));
    }
  }
  return RuleValue(result);
}

Expected<Rule> ReadRule(const Node& line) {
  Rule rule;
  ASSIGN_OR_RETURN(rule.id, config::GetString(line, "id"));
  ASSIGN_OR_RETURN(rule.section, config::GetString(line, "section"));
  ASSIGN_OR_RETURN(rule.rule, config::GetString(line, "rule"));
  ASSIGN_OR_RETURN(rule.unit, config::GetStringOr(line, "unit", ""));
  ASSIGN_OR_RETURN(rule.reason, config::GetStringOr(line, "reason", ""));
  ASSIGN_OR_RETURN(rule.waits_for, config::GetStringOr(line, "waits_for", ""));
  if (const Node* stated = line.Find("stated")) rule.stated = stated->text;
  if (const Node* compute = line.Find("compute")) rule.compute = *compute;
  if (const Node* exact = line.Find("exact")) rule.exact = *exact;
  const bool is_computed = line.Find("compute") != nullptr;
  if (is_computed == !rule.waits_for.empty()) {
    return Fail(Wrong(line, "a rule has either \"compute\" or \"waits_for\""));
  }
  return rule;
}

}  // namespace

Expected<std::vector<Rule>> ReadRules(const std::string& name, std::string_view text) {
  std::vector<Rule> rules;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string row(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    ASSIGN_OR_RETURN(const Node node, config::ParseJson(fmt::format("{}:{}", name, line), row));
    ASSIGN_OR_RETURN(Rule rule, ReadRule(node));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Expected<RuleValue> ComputeRule(const Catalog& catalog, const Node& expression) {
  if (expression.IsNumber()) return RuleValue(expression.real);
  constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"gpu", Kind::kGpu}, {"machine", Kind::kInstance}, {"link", Kind::kLink}};
  for (const auto& [key, kind] : kKinds) {
    if (const Node* id = expression.Find(key)) return FactOf(catalog, kind, expression, id->text);
  }
  if (const Node* fit = expression.Find("fit")) return Judged(catalog, expression, *fit);
  if (const Node* op = expression.Find("op")) return Operated(catalog, expression, op->text);
  if (const Node* name = expression.Find("model")) {
    ASSIGN_OR_RETURN(const auto model, ModelOf(catalog, name->text));
    return RuleValue(static_cast<double>(spec::ParameterCount(*model)));
  }
  return Fail(Wrong(expression, "this is no expression"));
}

Expected<std::vector<RuleValue>> ComputeRules(const Catalog& catalog,
                                              const std::vector<Rule>& rules) {
  std::vector<RuleValue> values;
  for (const Rule& rule : rules) {
    if (!rule.waits_for.empty()) {
      values.emplace_back(0.0);
      continue;
    }
    ASSIGN_OR_RETURN(RuleValue value, ComputeRule(catalog, rule.compute));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace trainfit::validate
