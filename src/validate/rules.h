// Rules of thumb and figures of other documents, each computed by the product.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "config/node.h"

namespace trainfit::validate {

// A number, or a word (a verdict).
using RuleValue = std::variant<double, std::string>;

// One line of tests/truth/seeds.jsonl.
struct Rule {
  std::string id;
  std::string section;    // of the document
  std::string rule;       // a sentence
  std::string stated;     // as the document has it: "16", "12.7", "fits"
  std::string unit;       // of both values: "B/parameter"; empty for words
  std::string reason;     // of the difference, or why there is none
  std::string waits_for;  // what has to be built before it can be computed; empty: computed
  config::Node compute;   // how: see ComputeRule
  config::Node exact;     // the value as recorded
};

// One rule a line, `name` is how messages call the text.
Expected<std::vector<Rule>> ReadRules(const std::string& name, std::string_view text);

// The value of an expression:
//   5                                        the number
//   {"gpu": "rtx-3090", "fact": "memory.bandwidth_gb_per_s"}   a key of data/; machine, link alike
//   {"model": "Qwen/Qwen3-0.6B"}             its parameters, counted from the tensors
//   {"fit": {"model": …, "method": …, "on": …, …}, "what": "need_gb"}
//       one case, judged at the worst phase: need_gb, need_gib, host_gb, pinned_gb, disk_gb,
//       verdict; of the steady step: step_seconds, tokens_per_second, share:links (what bounds it),
//       exchanged_bytes (handed to collectives by a rank), or the bytes of the parts named
//       ["weights", "gradients"], in another "place" than the GPU if that is said
//   {"op": "*", "of": [a, b, …]}             + - * / from the left, min, max
Expected<RuleValue> ComputeRule(const catalog::Catalog& catalog, const config::Node& expression);

// Rule, stated, exact, difference and reason, as a page for readers. `values`: one a rule, in the
// order of the rules; of those that wait, anything.
std::string RulesPage(const std::vector<Rule>& rules, const std::vector<RuleValue>& values);

// {"rules": [{"id": …, "exact": …}, …]}: what a script needs to bring the file up to date.
std::string RulesJson(const std::vector<Rule>& rules, const std::vector<RuleValue>& values);

// Of all rules that do not wait.
Expected<std::vector<RuleValue>> ComputeRules(const catalog::Catalog& catalog,
                                              const std::vector<Rule>& rules);

}  // namespace trainfit::validate
