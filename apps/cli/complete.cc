#include "cli/complete.h"

#include <algorithm>

#include "api/names.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace trainfit::cli {
namespace {

using Words = std::vector<std::string>;

void Append(Words* to, const Expected<Words>& names) {
  if (names) to->insert(to->end(), names->begin(), names->end());
}

// "8xh1" and "2x8xh1" count what follows: the name begins behind the last count.
std::size_t NameStart(const std::string& word) {
  std::size_t start = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == 'x' && at > start) {
      start = at + 1;
    } else if (word[at] < '0' || word[at] > '9') {
      break;
    }
  }
  return start;
}

Words Values(const Option& option, const std::string& typed, const Words& files) {
  Words values;
  if (option.words != nullptr) return option.words();
  if (option.name == "on") {
    Append(&values, api::HardwareNames(files));
    const std::string counts = typed.substr(0, NameStart(typed));
    for (std::string& value : values) value.insert(0, counts);
  } else if (option.name == "model") {
    Append(&values, api::ModelNames(files));
  }
  return values;
}

Words OptionWords(unsigned commands) {
  Words words;
  for (const Option& option : Options()) {
    if ((option.commands & commands) == 0) continue;
    words.push_back("--" + std::string(option.name));
  }
  return words;
}

// Commands and models for the first word; models where the command takes one.
Words Positional(const Command& command, bool is_first, const Words& files) {
  Words words;
  if (is_first) {
    for (const Command& candidate : Commands()) {
      if (!candidate.name.empty() && !candidate.is_hidden) words.emplace_back(candidate.name);
    }
  }
  const bool takes_model = (command.bit & (kAllCommands | kModelsBit)) != 0;
  if (takes_model) Append(&words, api::ModelNames(files));
  return words;
}

}  // namespace

Words Complete(const Words& words, const Environment& environment) {
  if (words.empty()) return {};
  const std::string& last = words.back();
  const Command* command = words.size() > 1 ? FindCommand(words.front()) : nullptr;
  const bool is_first = command == nullptr && words.size() == 1;
  if (command == nullptr) command = &UnnamedCommand();
  Words files;
  if (!environment.catalog.empty()) files.push_back(environment.catalog);

  const Option* before = nullptr;
  if (words.size() > 1 && words[words.size() - 2].starts_with("--")) {
    before = FindOption(words[words.size() - 2].substr(2));
  }
  Words candidates;
  if (before != nullptr && !before->IsSwitch()) {
    candidates = Values(*before, last, files);
  } else if (last.starts_with('-')) {
    candidates = OptionWords(command->bit);
  } else {
    candidates = Positional(*command, is_first, files);
  }
  std::erase_if(candidates, [&](const std::string& word) { return !word.starts_with(last); });
  return candidates;
}

}  // namespace trainfit::cli
