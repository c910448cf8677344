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
    {.name = "check",
     .usage = "FILE... --on HARDWARE [options]",
     .summary = "the configuration files that you have: what was understood, and does it fit",
     .example = "check sft.yaml ds_config.json --on 2xrtx-4090",
     .bit = kCheckBit,
     .needs_on = true,
     .takes_files = true,
     .run = RunCheck},
    {.name = "oom",
     .usage = "FILE|- [options]",
     .summary = "an out-of-memory message: which tensor it was, and the ways out",
     .example = "oom train.log --model meta-llama/Llama-3.1-8B --on 4xa100-80",
     .bit = kOomBit,
     .takes_files = true,
     .run = RunOom},
    {.name = "validate",
     .usage = "FILE.jsonl... [options]",
     .summary = "predictions for records of measured runs, and how near they come",
     .example = "validate runs.jsonl --by method --worst 5",
     .bit = kValidateBit,
     .takes_files = true,
     .run = RunValidate},
    {.name = "gpus",
     .usage = "[FILTER...] [options]",
     .summary = "known GPUs, what they can do and cost; one of them in full",
     .example = "gpus nvidia 'memory>=80' --sort price",
     .bit = kListBit,
     .takes_words = true,
     .run = RunGpus},
    {.name = "instances",
     .usage = "[FILTER...] [options]",
     .summary = "machines to rent or own, with prices and the day they were read",
     .example = "instances gpu=h100-sxm --sort price_per_gpu",
     .bit = kListBit,
     .takes_words = true,
     .run = RunInstances},
    {.name = "links",
     .usage = "[FILTER...] [options]",
     .summary = "what joins GPUs, hosts and machines, and how much of it arrives",
     .example = "links nvlink --sort -one_way",
     .bit = kListBit,
     .takes_words = true,
     .run = RunLinks},
    {.name = "models",
     .usage = "[FILTER... | MODEL] [options]",
     .summary = "known models; of one, parameters and tensors, counted exactly",
     .example = "models mistralai/Mistral-7B-v0.1 --tensors",
     .bit = kModelsBit,
     .takes_words = true,
     .run = RunModels},
    {.name = "prices",
     .usage = "import FILE.csv [options]",
     .summary = "a price list of gpuhunt or SkyPilot as a file for --catalog",
     .example = "prices import aws.csv --write prices.json",
     .bit = kPricesBit,
     .takes_words = true,
     .run = RunPrices},
    {.name = "rules",
     .usage = "FILE.jsonl [--json]",
     .summary = "rules of thumb beside what they are exactly",
     .example = "rules tests/truth/seeds.jsonl",
     .bit = kRulesBit,
     .takes_files = true,
     .is_hidden = true,
     .run = RunRules},
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
    if (!command.name.empty() && !command.is_hidden) names.emplace_back(command.name);
  }
  return names;
}

api::ModelQuery ModelOf(const Request& request, const Environment& environment) {
  return {request.model, environment.hf_cache};
}

std::vector<std::string> CatalogFiles(const Request& request, const Environment& environment) {
  std::vector<std::string> files;
  if (!environment.catalog.empty()) files.push_back(environment.catalog);
  if (!request.catalog.empty()) files.push_back(request.catalog);
  return files;
}

int StatusOf(verdict::Fit fit, bool is_strict) {
  switch (fit) {
    case verdict::Fit::kFits:
      return kOk;
    case verdict::Fit::kTight:
    case verdict::Fit::kUnknown:
      return is_strict ? kNo : kOk;
    case verdict::Fit::kDoesNotFit:
      return kNo;
  }
  return kNo;
}

int PrintErrors(const Diagnostics& errors) {
  std::string text;
  for (const Diagnostic& error : errors) text += RenderText(error);
  PrintComplaint(text);
  return kUsage;
}

}  // namespace trainfit::cli
