// Launch lines: torchrun, accelerate launch, deepspeed, srun … and the script they start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "readers/configs/dialect.h"

namespace trainfit::readers {

struct Launch {
  std::string script;                // "trl sft", "src/train.py", …; empty: options alone
  const Dialect* dialect = nullptr;  // of the script's options; null: its options decide
  config::Node options;              // of the script, as an object
  config::Node launcher;             // of accelerate launch, with accelerate's keys
  std::vector<config::Node> files;   // configuration files that the line names
};

// The command among `commands` that starts a training, taken apart; nullopt: none does.
std::optional<Launch> FindLaunch(const std::vector<std::vector<config::Node>>& commands);

// True when the text is a command line and not YAML, TOML or JSON.
bool LooksLikeCommand(std::string_view text);

// `--key value --flag --list a b` from `first` on as an object with typed values.
config::Node OptionsOf(const std::vector<config::Node>& words, std::size_t first);

}  // namespace trainfit::readers
