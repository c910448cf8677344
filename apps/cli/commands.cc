#include "cli/commands.h"

#include "cli/output.h"

namespace trainfit::cli {
namespace {

constexpr Command kCommands[] = {
    {.name = "",
     .usage = "MODEL [options]",
     .summary = "what hardware can train it: methods, memory, smallest cards, prices",
     .example = "mistralai/Mistral-7B-v0.1",
     .bit = kSurveyBit,
     .run = RunSurvey},
    {.name = "fit",
     .usage = "MODEL --on HARDWARE [options]",
     .summary = "does one case fit: every part of the memory, and what to change",
     .example = "fit mistralai/Mistral-7B-v0.1 --method qlora --on rtx-4090",
     .bit = kFitBit,
     .needs_on = true,
     .run = RunFit},
    {.name = "validate",
     .usage = "FILE.jsonl... [options]",
     .summary = "predictions for records of measured runs, and how near they come",
     .example = "validate runs.jsonl --by method --worst 5",
     .bit = kValidateBit,
     .takes_files = true,
     .run = RunValidate},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command& UnnamedCommand() { return kCommands[0]; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (!command.name.empty() && command.name == name) return &command;
  }
  return nullptr;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (!command.name.empty()) names.emplace_back(command.name);
  }
  return names;
}

api::ModelQuery ModelOf(const Request& request, const Environment& environment) {
  return {request.model, environment.hf_cache};
}

int PrintErrors(const Diagnostics& errors) {
  std::string text;
  for (const Diagnostic& error : errors) text += RenderText(error);
  PrintComplaint(text);
  return kUsage;
}

}  // namespace trainfit::cli
