#include <algorithm>

#include "cli/options.h"
#include "cli/values.h"

namespace trainfit::cli {
namespace {

// Calls visit(name) for the name and each alias.
template <typename Visit>
void ForEachName(const Option& option, Visit visit) {
  visit(option.name);
  std::string_view rest = option.aliases;
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    visit(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
}

}  // namespace

std::string_view Title(Group group) {
  switch (group) {
    case Group::kCase:
      return "The case";
    case Group::kSplit:
      return "Splitting the model (--framework megatron)";
    case Group::kBatch:
      return "Batch";
    case Group::kNumbers:
      return "Numbers and kernels";
    case Group::kLora:
      return "LoRA and QLoRA";
    case Group::kFramework:
      return "Framework";
    case Group::kCatalog:
      return "Catalogue";
    case Group::kOutput:
      return "Output";
  }
  return "";
}

const Option* FindOption(std::string_view name) {
  const std::string wanted = Normalized(name);
  for (const Option& option : Options()) {
    bool is_it = false;
    ForEachName(option, [&](std::string_view known) { is_it = is_it || known == wanted; });
    if (is_it) return &option;
  }
  return nullptr;
}

std::vector<std::string> OptionNames(unsigned commands) {
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    if ((option.commands & commands) == 0) continue;
    ForEachName(option, [&](std::string_view name) {
      names.emplace_back(name);
      if (option.can_be_negated) names.push_back("no-" + std::string(name));
    });
  }
  return names;
}

}  // namespace trainfit::cli
