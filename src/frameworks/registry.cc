#include "frameworks/registry.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/nearest_word.h"
#include "base/text.h"
#include "frameworks/composer/facts.h"
#include "frameworks/fsdp_qlora/facts.h"
#include "frameworks/huggingface/facts.h"
#include "frameworks/litgpt/facts.h"
#include "frameworks/megatron/facts.h"
#include "frameworks/torchtitan/facts.h"
#include "frameworks/torchtune/facts.h"

namespace trainfit::frameworks {
namespace {

constexpr std::string_view kSeparators = " ,\t";

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kSeparators), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Diagnostic Unknown(std::string_view what, std::string_view typed,
                   const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(typed, known);
  return Error("unknown-" + std::string(what),
               "there is no " + std::string(what) + " " + Quoted(typed) + " here", nearest);
}

// "2.7.0+cu128", "5.0.0rc1": begins with a digit, and what follows is a version's alphabet.
bool IsVersion(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '+' || c == '-';
  });
}

// Each word is package==version.
Diagnostics SetVersions(std::string_view versions, plan::Stack* stack) {
  std::vector<std::string> set;
  for (const std::string& word : Words(versions)) {
    const std::size_t equals = word.find("==");
    const std::string name = word.substr(0, equals);
    const auto package =
        std::find_if(stack->packages.begin(), stack->packages.end(),
                     [&](const plan::Package& candidate) { return candidate.name == name; });
    if (package == stack->packages.end()) {
      std::vector<std::string> known;
      known.reserve(stack->packages.size());
      for (const plan::Package& candidate : stack->packages) known.push_back(candidate.name);
      return {Unknown("package", name, known)};
    }
    const std::string version = equals == std::string::npos ? "" : word.substr(equals + 2);
    if (!IsVersion(version)) {
      return {Error("bad-version", Quoted(word) + " gives no version", name + "==1.2.3")};
    }
    if (std::find(set.begin(), set.end(), name) != set.end()) {
      return {Error("bad-version", "two versions of " + name + " are given", word)};
    }
    set.push_back(name);
    package->version = plan::ParseVersion(version);
  }
  return {};
}

// What a name stands for.
struct Dialect {
  plan::Stack stack;
  std::span<const plan::FactRow> rows;
  std::span<const plan::FactRow> base = {};  // of the stack whose parts it shares
};

std::vector<Dialect> Dialects() {
  std::vector<Dialect> dialects = {{huggingface::CurrentStack(), huggingface::FactRows()}};
  plan::Stack trainer_alone = huggingface::CurrentStack();
  std::erase_if(trainer_alone.packages, [](const plan::Package& p) { return p.name == "trl"; });
  trainer_alone.framework = "transformers";
  dialects.push_back({std::move(trainer_alone), huggingface::FactRows()});
  const std::span<const plan::FactRow> base = huggingface::FactRows();
  for (const plan::Stack& stack : megatron::Stacks()) {
    dialects.push_back({stack, megatron::FactRows(), base});
  }
  dialects.push_back({composer::CurrentStack(), composer::FactRows(), base});
  dialects.push_back({fsdp_qlora::CurrentStack(), fsdp_qlora::FactRows(), base});
  dialects.push_back({litgpt::CurrentStack(), litgpt::FactRows(), base});
  dialects.push_back({torchtitan::CurrentStack(), torchtitan::FactRows(), base});
  dialects.push_back({torchtune::CurrentStack(), torchtune::FactRows(), base});
  return dialects;
}

}  // namespace

Expected<plan::FactTable> FindFacts(std::string_view framework, std::string_view versions) {
  const std::string_view name =
      framework.empty() || framework == "trl" ? std::string_view("huggingface") : framework;
  const std::vector<Dialect> dialects = Dialects();
  const auto found = std::find_if(dialects.begin(), dialects.end(), [&](const Dialect& dialect) {
    return dialect.stack.framework == name;
  });
  if (found == dialects.end()) {
    std::vector<std::string> known = {"trl"};
    for (const Dialect& dialect : dialects) known.push_back(dialect.stack.framework);
    return Fail(Unknown("framework", framework, known));
  }
  plan::Stack stack = found->stack;
  if (auto errors = SetVersions(versions, &stack); !errors.empty()) return Fail(std::move(errors));
  return plan::FactTable(std::move(stack), found->rows, found->base);
}

}  // namespace trainfit::frameworks
