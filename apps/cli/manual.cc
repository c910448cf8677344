#include "cli/manual.h"

#include <string_view>

#include "cli/commands.h"
#include "cli/options.h"

namespace trainfit::cli {
namespace {

// Text for roff: a hyphen is a minus, a backslash is escaped, no line begins with a control.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      if ((c == '.' || c == '\'') && out.empty()) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string CommandText(const Command& command) {
  std::string usage = "trainfit";
  if (!command.name.empty()) usage += " " + std::string(command.name);
  return ".TP\n.B " + Roff(usage) + "\n" + Roff(command.usage) + "\n.br\n" + Roff(command.summary) +
         "\n";
}

std::string OptionText(const Option& option) {
  std::string text = ".TP\n.B \\-\\-" + Roff(option.name);
  if (!option.metavar.empty()) text += " " + Roff(option.metavar);
  text += "\n" + Roff(option.help) + "\n";
  if (option.words == nullptr) return text;
  std::string words;
  for (const std::string& word : option.words()) words += (words.empty() ? "" : ", ") + word;
  return text + ".br\n" + Roff(words) + "\n";
}

}  // namespace

std::string ManualPage() {
  std::string text = ".TH TRAINFIT 1 \"\" \"trainfit " TRAINFIT_VERSION
                     "\"\n.SH NAME\ntrainfit \\- what hardware can train a model, does it fit, "
                     "and why\n.SH SYNOPSIS\n";
  for (const Command& command : Commands()) {
    if (!command.is_hidden) text += CommandText(command);
  }
  for (int i = 0; i <= static_cast<int>(Group::kOutput); ++i) {
    const Group group = static_cast<Group>(i);
    text += ".SH " + Roff(Title(group)) + "\n";
    for (const Option& option : Options()) {
      if (option.group == group) text += OptionText(option);
    }
  }
  text += ".SH EXAMPLES\n";
  for (const Command& command : Commands()) {
    if (!command.is_hidden) text += ".nf\ntrainfit " + Roff(command.example) + "\n.fi\n";
  }
  return text +
         ".SH EXIT STATUS\n0: it fits, or there is an answer. 1: it does not fit. 2: wrong usage "
         "or "
         "input. 3: a fault of trainfit.\n";
}

}  // namespace trainfit::cli
