// The one table of options: parsing, help and "did you mean" all come from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "cli/request.h"

namespace trainfit::cli {

enum class Group { kCase, kSplit, kBatch, kNumbers, kLora, kFramework, kCatalog, kOutput };
std::string_view Title(Group group);

// Which commands take an option.
enum CommandBit : unsigned {
  kSurveyBit = 1,
  kFitBit = 2,
  kValidateBit = 4,
  kListBit = 8,     // gpus, instances, links
  kModelsBit = 16,  // models
  kPricesBit = 32,
  kRulesBit = 64,
  kCheckBit = 128,
  kOomBit = 256,
};
inline constexpr unsigned kAllCommands = kSurveyBit | kFitBit;     // that take a model
inline constexpr unsigned kTableCommands = kListBit | kModelsBit;  // of the catalogue
inline constexpr unsigned kEveryCommand =
    kAllCommands | kValidateBit | kTableCommands | kPricesBit | kRulesBit | kCheckBit | kOomBit;

struct Option {
  std::string_view name;     // "micro-batch": typed as --micro-batch or --micro_batch
  std::string_view aliases;  // other names, separated by spaces
  std::string_view metavar;  // "N"; empty: a switch, which --no-NAME turns off
  std::string_view help;
  Group group = Group::kOutput;
  unsigned commands = kAllCommands;
  // Takes the value ("yes" or "no" of a switch). A complaint without position when it is wrong.
  std::optional<Diagnostic> (*apply)(std::string_view value, Request* request) = nullptr;
  // The words it takes, when they are few.
  std::vector<std::string> (*words)() = nullptr;
  bool can_be_negated = false;

  bool IsSwitch() const { return metavar.empty(); }
};

std::span<const Option> Options();

// The option with this name or alias ('_' and '-' are the same), or nullptr.
const Option* FindOption(std::string_view name);
// Every name and alias that may follow "--", of one command's options.
std::vector<std::string> OptionNames(unsigned commands);

}  // namespace trainfit::cli
