#include "cli/help.h"

#include <algorithm>

#include "api/render.h"

namespace trainfit::cli {
namespace {

constexpr int kWidth = 80;
constexpr int kOptionColumn = 31;  // where the text of an option begins

// "trainfit fit MODEL --on HARDWARE [options]".
std::string Usage(const Command& command, const Environment& environment) {
  std::string text = environment.program;
  if (!command.name.empty()) text += " " + std::string(command.name);
  return text + " " + std::string(command.usage);
}

std::string OptionHead(const Option& option) {
  std::string head = option.can_be_negated ? "  --[no-]" : "  --";
  head += option.name;
  if (!option.metavar.empty()) head += " " + std::string(option.metavar);
  return head;
}

std::string OptionBody(const Option& option) {
  std::string body(option.help);
  if (option.words != nullptr) {
    if (!body.empty()) body += ": ";
    std::string words;
    for (const std::string& word : option.words()) words += (words.empty() ? "" : ", ") + word;
    body += words;
  }
  return body;
}

std::string OptionText(const Option& option) {
  std::string text = OptionHead(option);
  if (OptionBody(option).empty()) return text + "\n";
  if (text.size() + 2 > kOptionColumn) {
    text += "\n" + std::string(kOptionColumn, ' ');
  } else {
    text.append(kOptionColumn - text.size(), ' ');
  }
  bool is_first = true;
  for (const std::string& line : api::Wrap(OptionBody(option), kWidth - kOptionColumn)) {
    if (!is_first) text += std::string(kOptionColumn, ' ');
    text += line + "\n";
    is_first = false;
  }
  return text;
}

// What the words of the usage line are.
std::string_view ArgumentText(const Command& command) {
  if ((command.bit & kTableCommands) != 0) {
    return "\n  FILTER: a name, or a part of a name, maker, family, provider; or a comparison\n"
           "  of a column: 'memory>=24', vendor=amd, 'price<2'. Rows match all filters. One\n"
           "  name alone shows everything about it. --columns help lists the columns.\n";
  }
  if (command.bit == kCheckBit) {
    return "\n  FILE: a DeepSpeed JSON, accelerate YAML, TRL or transformers arguments (YAML,\n"
           "  JSON, a command line, Python keyword arguments or a notebook with them),\n"
           "  axolotl, LLaMA-Factory, ms-swift or Megatron; which of them is told by its\n"
           "  keys. Of several files a later one overrides an earlier one.\n";
  }
  if (command.bit == kOomBit) {
    return "\n  FILE: a log, a traceback or the message alone; - reads it from the terminal. The\n"
           "  more is known of the run (--with, --model, --on), the closer the search.\n";
  }
  if ((command.bit & kAllCommands) == 0) return "";
  return "\n  MODEL: a name from the catalogue, a Hugging Face hub id, or the path of a\n"
         "  config.json or of its folder. Whatever no option says is filled in from the\n"
         "  defaults of the framework, and the answer lists it.\n";
}

std::string CommandList(const Environment& environment) {
  std::string text;
  for (const Command& command : Commands()) {
    if (command.is_hidden) continue;
    text += "  " + Usage(command, environment) + "\n      " + std::string(command.summary) + "\n";
  }
  return text;
}

}  // namespace

std::string ShortHelp(const Environment& environment) {
  std::string text =
      "What hardware can train a model, does it fit, and why.\n\n" + CommandList(environment);
  text += "\nExamples:\n";
  for (const Command& command : Commands()) {
    if (command.is_hidden) continue;
    text += "  " + environment.program + " " + std::string(command.example) + "\n";
  }
  text += "  " + environment.program + " fit ./config.json --on 8xa100-80 --sharding fsdp2\n";
  return text + "\nAll options: " + environment.program + " --help, " + environment.program +
         " fit --help\n";
}

std::string Help(const Command& command, const Environment& environment) {
  std::string text = Usage(command, environment) + "\n  " + std::string(command.summary) + "\n";
  text += ArgumentText(command);
  for (int i = 0; i <= static_cast<int>(Group::kOutput); ++i) {
    const Group group = static_cast<Group>(i);
    std::string section;
    for (const Option& option : Options()) {
      if (option.group != group || (option.commands & command.bit) == 0) continue;
      section += OptionText(option);
    }
    if (!section.empty()) text += "\n" + std::string(Title(group)) + "\n" + section;
  }
  text += "\nExample\n  " + environment.program + " " + std::string(command.example) + "\n";
  if (command.name.empty()) text += "\nAll commands\n" + CommandList(environment);
  return text +
         "\nExit status: 0 it fits, or there is an answer; 1 it does not fit; 2 wrong usage\n"
         "or input; 3 a fault of trainfit.\n";
}

}  // namespace trainfit::cli
