#include "frameworks/registry.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest_word.h"
#include "frameworks/huggingface/facts.h"

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
               "there is no " + std::string(what) + " \"" + std::string(typed) + "\" here",
               nearest);
}

}  // namespace

Expected<plan::FactTable> FindFacts(std::string_view framework, std::string_view versions) {
  plan::Stack stack = huggingface::CurrentStack();
  if (framework == "transformers") {
    std::erase_if(stack.packages, [](const plan::Package& p) { return p.name == "trl"; });
    stack.framework = "transformers";
  } else if (!framework.empty() && framework != "huggingface" && framework != "trl") {
    return Fail(Unknown("framework", framework, {"huggingface", "transformers", "trl"}));
  }
  for (const std::string& word : Words(versions)) {
    const std::size_t equals = word.find("==");
    const std::string name = word.substr(0, equals);
    const auto package =
        std::find_if(stack.packages.begin(), stack.packages.end(),
                     [&](const plan::Package& candidate) { return candidate.name == name; });
    if (package == stack.packages.end()) {
      std::vector<std::string> known;
      known.reserve(stack.packages.size());
      for (const plan::Package& candidate : stack.packages) known.push_back(candidate.name);
      return Fail(Unknown("package", name, known));
    }
    if (equals == std::string::npos || equals + 2 >= word.size()) {
      return Fail(Error("bad-version", "\"" + word + "\" gives no version", name + "==1.2.3"));
    }
    package->version = plan::ParseVersion(std::string_view(word).substr(equals + 2));
  }
  return plan::FactTable(std::move(stack), huggingface::FactRows());
}

}  // namespace trainfit::frameworks
