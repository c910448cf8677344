// The one table of commands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "cli/options.h"
#include "cli/request.h"

namespace trainfit::cli {

// Exit status; `docs` and the README name the same four.
enum Status : int { kOk = 0, kNo = 1, kUsage = 2, kInternal = 3 };

struct Command {
  std::string_view name;     // "" is the command without a name: `trainfit MODEL`
  std::string_view usage;    // "MODEL --on HARDWARE [options]"
  std::string_view summary;  // one sentence for the list of commands
  std::string_view example;
  CommandBit bit = kSurveyBit;
  bool needs_on = false;
  bool takes_files = false;  // any number of paths instead of one model
  bool takes_words = false;  // any number of words: filters
  bool is_hidden = false;    // for scripts of this repository: in no list and no help
  int (*run)(const Request& request, const Environment& environment) = nullptr;
};

std::span<const Command> Commands();
const Command& UnnamedCommand();
// nullptr: there is none of that name.
const Command* FindCommand(std::string_view name);
std::vector<std::string> CommandNames();

int RunSurvey(const Request& request, const Environment& environment);
int RunFit(const Request& request, const Environment& environment);
int RunCheck(const Request& request, const Environment& environment);
int RunOom(const Request& request, const Environment& environment);
int RunValidate(const Request& request, const Environment& environment);
int RunGpus(const Request& request, const Environment& environment);
int RunInstances(const Request& request, const Environment& environment);
int RunLinks(const Request& request, const Environment& environment);
int RunPrices(const Request& request, const Environment& environment);
int RunRules(const Request& request, const Environment& environment);
int RunModels(const Request& request, const Environment& environment);

// What all commands do with their ingredients.
api::ModelQuery ModelOf(const Request& request, const Environment& environment);
// The user's own catalogue files, the weakest first.
std::vector<std::string> CatalogFiles(const Request& request, const Environment& environment);
// The exit status of a verdict.
int StatusOf(verdict::Fit fit, bool is_strict);
int PrintErrors(const Diagnostics& errors);  // kUsage

}  // namespace trainfit::cli
