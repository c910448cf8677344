#include "cli/options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/split_options.h"
#include "cli/synonyms.h"
#include "cli/values.h"

namespace trainfit::cli {
namespace {

using Complaint = std::optional<Diagnostic>;
using spec::OptimizerLoop;

// Far above anything that is trained, far below where arithmetic ends: the bounds of plan/, which
// are repeated here for an error that points at the word.
constexpr Bounds kMicroBatch{1, std::int64_t{1} << 20};
constexpr Bounds kAccumulation{1, std::int64_t{1} << 20};
constexpr Bounds kLength{1, std::int64_t{1} << 24};
constexpr Bounds kLoraRank{1, 65'536};
constexpr Bounds kWidth{60, 200};
constexpr Bounds kWorst{1, 1'000'000};

Complaint SetMethod(std::string_view value, Request* request) {
  std::optional<spec::Method> method;
  Complaint complaint =
      ReadWord("method", value, spec::Method::kQlora, kNoSynonyms<spec::Method>, &method);
  if (method) request->recipe.method = method;
  return complaint;
}

Complaint SetCount(std::string_view value, Bounds bounds, bool allow_k,
                   std::optional<std::int64_t>* target) {
  std::int64_t count = 0;
  Complaint complaint = ReadCount(value, bounds, allow_k, &count);
  if (!complaint) *target = count;
  return complaint;
}

Complaint SetMicroBatch(std::string_view value, Request* request) {
  return SetCount(value, kMicroBatch, false, &request->recipe.micro_batch);
}

Complaint SetLength(std::string_view value, Request* request) {
  return SetCount(value, kLength, true, &request->recipe.sequence_length);
}

Complaint SetAccumulation(std::string_view value, Request* request) {
  return SetCount(value, kAccumulation, false, &request->recipe.gradient_accumulation);
}

Complaint SetPrecision(std::string_view value, Request* request) {
  return ReadWord("precision", value, Precision::kFp16Pure, kPrecisionSynonyms,
                  &request->recipe.precision);
}

Complaint SetLoadDtype(std::string_view value, Request* request) {
  return ReadFloatType(value, &request->recipe.load_dtype);
}

Complaint SetFigure(std::string_view value, Request* request) {
  return ReadBytes(value, &request->other_figure);
}

Complaint SetOptimizer(std::string_view value, Request* request) {
  // The one name that says two things.
  if (Normalized(value) == "adamw-torch-fused") {
    request->recipe.optimizer_loop = OptimizerLoop::kFused;
  }
  return ReadWord("optimizer", value, Optimizer::kSgdMomentum, kOptimizerSynonyms,
                  &request->recipe.optimizer);
}

Complaint SetOptimizerLoop(std::string_view value, Request* request) {
  return ReadWord("optimizer-loop", value, OptimizerLoop::kForLoop, kNoSynonyms<OptimizerLoop>,
                  &request->recipe.optimizer_loop);
}

Complaint SetOptimizerInBackward(std::string_view value, Request* request) {
  request->recipe.optimizer_in_backward = value == "yes";
  return std::nullopt;
}

Complaint SetCheckpointing(std::string_view value, Request* request) {
  request->recipe.checkpointing =
      value == "yes" ? spec::Checkpointing::kFull : spec::Checkpointing::kNone;
  return std::nullopt;
}

Complaint SetAttention(std::string_view value, Request* request) {
  return ReadWord("attention", value, AttentionImplementation::kCudnn, kAttentionSynonyms,
                  &request->recipe.attention);
}

Complaint SetLoss(std::string_view value, Request* request) {
  return ReadWord("loss", value, LossKernel::kCompiled, kLossSynonyms, &request->recipe.loss);
}

Complaint SetSharding(std::string_view value, Request* request) {
  return ReadWord("sharding", value, Sharding::kFsdp2, kShardingSynonyms,
                  &request->recipe.sharding);
}

spec::LoraRecipe& Lora(Request* request) {
  if (!request->recipe.lora) request->recipe.lora.emplace();
  return *request->recipe.lora;
}

Complaint SetLoraRank(std::string_view value, Request* request) {
  return ReadCount(value, kLoraRank, false, &Lora(request).rank);
}

// "q_proj,v_proj" → its names; a complaint when one is empty.
Complaint SetNames(std::string_view value, std::vector<std::string>* names) {
  names->clear();
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (comma == 0) {
      return Error("empty-name", "an empty name in a list of modules", "q_proj,v_proj");
    }
    names->emplace_back(value.substr(0, comma));
    if (comma == value.size()) return std::nullopt;
    value.remove_prefix(comma + 1);
  }
}

Complaint SetLoraTargets(std::string_view value, Request* request) {
  return SetNames(value, &Lora(request).targets);
}

Complaint SetLoraDropout(std::string_view value, Request* request) {
  return ReadFraction(value, 0, 1, &Lora(request).dropout);
}

Complaint SetModulesToSave(std::string_view value, Request* request) {
  return SetNames(value, &Lora(request).modules_to_save);
}

// Each --with names one file, or several with commas.
Complaint SetWith(std::string_view value, Request* request) {
  std::vector<std::string> names;
  Complaint complaint = SetNames(value, &names);
  for (std::string& name : names) request->with.push_back(std::move(name));
  return complaint;
}

Complaint SetFramework(std::string_view value, Request* request) {
  const std::size_t at = std::min(value.find('@'), value.size());
  if (at == 0) {
    return Error("empty-name", "a framework needs a name", "trl, or trl@torch==2.6.0");
  }
  request->recipe.framework = value.substr(0, at);
  request->recipe.framework_version = at == value.size() ? "" : value.substr(at + 1);
  return std::nullopt;
}

std::vector<std::string> GroupWords() { return {"source", "gpu", "method", "meaning", "quality"}; }

template <bool Request::* kMember>
Complaint SetSwitch(std::string_view value, Request* request) {
  request->*kMember = value == "yes";
  return std::nullopt;
}

Complaint SetLiger(std::string_view value, Request* request) {
  request->recipe.liger_kernels = value == "yes";
  return std::nullopt;
}

Complaint SetPaddingFree(std::string_view value, Request* request) {
  request->recipe.padding_free = value == "yes";
  return std::nullopt;
}

Complaint SetDoubleQuantization(std::string_view value, Request* request) {
  request->recipe.double_quantization = value == "yes";
  return std::nullopt;
}

Complaint SetWidth(std::string_view value, Request* request) {
  std::int64_t width = 0;
  Complaint complaint = ReadCount(value, kWidth, false, &width);
  if (!complaint) request->width = static_cast<int>(width);
  return complaint;
}

Complaint SetGroupBy(std::string_view value, Request* request) {
  request->by = api::ParseGroupBy(Normalized(value));
  if (request->by) return std::nullopt;
  return UnknownWord("grouping", value, GroupWords());
}

Complaint SetWorst(std::string_view value, Request* request) {
  return ReadCount(value, kWorst, false, &request->worst);
}

template <std::string Request::* kMember>
Complaint SetText(std::string_view value, Request* request) {
  request->*kMember = value;
  return std::nullopt;
}

Complaint SetDate(std::string_view value, Request* request) {
  request->date = api::ParseDate(value);
  if (request->date) return std::nullopt;
  return Error("not-a-date", Quoted(value, 40) + " is not a date", "2026-11-09");
}

Complaint SetColumns(std::string_view value, Request* request) {
  return SetNames(value, &request->columns);
}

constexpr Option kOptions[] = {
    {.name = "method",
     .metavar = "METHOD",
     .help = "what is trained",
     .group = Group::kCase,
     .commands = kFitBit | kModelsBit,
     .apply = SetMethod,
     .words = WordsUpTo<spec::Method::kQlora>},
    {.name = "model",
     .aliases = "model-name-or-path",
     .metavar = "MODEL",
     .help = "the model's name; for files that name none",
     .group = Group::kCase,
     .commands = kAllCommands | kCheckBit | kOomBit,
     .apply = SetText<&Request::model>},
    {.name = "on",
     .metavar = "HARDWARE",
     .help = "rtx-4090, 2xrtx-4090, 8xa100-80, 8x8xa100-80 (nodes x cards), aws-p4d.24xlarge",
     .group = Group::kCase,
     .commands = kFitBit | kCheckBit | kOomBit,
     .apply = SetText<&Request::on>},
    {.name = "with",
     .metavar = "FILES",
     .help = "the run's configuration files, as for check: a.yaml,ds.json",
     .group = Group::kCase,
     .commands = kOomBit,
     .apply = SetWith},
    {.name = "sharding",
     .metavar = "HOW",
     .help = "what is spread over several cards",
     .group = Group::kCase,
     .commands = kFitBit,
     .apply = SetSharding,
     .words = WordsUpTo<Sharding::kFsdp2>},
    {.name = "offload",
     .metavar = "WHAT",
     .help = "keep on the host: optimizer or params or optimizer,params (FSDP: params for all); "
             "optimizer=nvme: "
             "on a disk",
     .group = Group::kCase,
     .commands = kFitBit,
     .apply = SetOffload},
    {.name = "tp",
     .aliases = "tensor-parallel tensor-model-parallel-size",
     .metavar = "N",
     .help = "tensor parallelism: cards that share every layer",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetTensorParallel},
    {.name = "sequence-parallel",
     .help = "norms and residuals are spread over them as well",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetSequenceParallel,
     .can_be_negated = true},
    {.name = "pp",
     .aliases = "pipeline-parallel pipeline-model-parallel-size",
     .metavar = "N",
     .help = "pipeline parallelism: stages of layers",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetPipelineParallel},
    {.name = "vpp",
     .aliases = "virtual-stages num-virtual-stages-per-pipeline-rank",
     .metavar = "N",
     .help = "chunks of layers a stage has, interleaved",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetVirtualStages},
    {.name = "cp",
     .aliases = "context-parallel context-parallel-size",
     .metavar = "N",
     .help = "context parallelism: cards that share a sequence",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetContextParallel},
    {.name = "ep",
     .aliases = "expert-parallel expert-model-parallel-size",
     .metavar = "N",
     .help = "expert parallelism: cards that share the experts",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetExpertParallel},
    {.name = "etp",
     .aliases = "expert-tensor-parallel-size",
     .metavar = "N",
     .help = "tensor parallelism inside an expert; otherwise as --tp",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetExpertTensor},
    {.name = "recompute",
     .aliases = "recompute-modules",
     .metavar = "MODULES",
     .help = "what selective recomputation runs again, as core-attn,layernorm",
     .group = Group::kSplit,
     .commands = kFitBit,
     .apply = SetRecompute,
     .words = RecomputeWords},
    {.name = "micro-batch",
     .aliases = "per-device-train-batch-size micro-batch-size",
     .metavar = "N",
     .help = "sequences that a card works on at once",
     .group = Group::kBatch,
     .commands = kAllCommands | kOomBit,
     .apply = SetMicroBatch},
    {.name = "seq-len",
     .aliases = "max-length max-seq-length cutoff-len",
     .metavar = "N",
     .help = "tokens of a sequence; 4k is 4096",
     .group = Group::kBatch,
     .commands = kAllCommands | kOomBit,
     .apply = SetLength},
    {.name = "gradient-accumulation",
     .aliases = "gradient-accumulation-steps",
     .metavar = "N",
     .help = "micro-batches of one optimizer step",
     .group = Group::kBatch,
     .apply = SetAccumulation},
    {.name = "padding-free",
     .help = "pack sequences into one row without a mask",
     .group = Group::kBatch,
     .apply = SetPaddingFree,
     .can_be_negated = true},
    {.name = "precision",
     .aliases = "mixed-precision",
     .metavar = "WORD",
     .help = "mixed precision, or -pure: weights and optimizer states in it as well",
     .group = Group::kNumbers,
     .apply = SetPrecision,
     .words = WordsUpTo<Precision::kFp16Pure>},
    {.name = "load-dtype",
     .aliases = "torch-dtype dtype",
     .metavar = "TYPE",
     .help = "of the weights as they are loaded",
     .group = Group::kNumbers,
     .apply = SetLoadDtype},
    {.name = "optimizer",
     .aliases = "optim",
     .metavar = "NAME",
     .help = "",
     .group = Group::kNumbers,
     .apply = SetOptimizer,
     .words = WordsUpTo<Optimizer::kSgdMomentum>},
    {.name = "optimizer-loop",
     .metavar = "WORD",
     .help = "how torch goes through the parameters",
     .group = Group::kNumbers,
     .apply = SetOptimizerLoop,
     .words = WordsUpTo<OptimizerLoop::kForLoop>},
    {.name = "optimizer-in-backward",
     .aliases = "optimizer-in-bwd",
     .help = "each weight is updated once its gradient is there",
     .group = Group::kNumbers,
     .apply = SetOptimizerInBackward,
     .can_be_negated = true},
    {.name = "gradient-checkpointing",
     .aliases = "activation-checkpointing",
     .help = "recompute activations in the backward pass",
     .group = Group::kNumbers,
     .apply = SetCheckpointing,
     .can_be_negated = true},
    {.name = "attention",
     .aliases = "attn-implementation",
     .metavar = "WORD",
     .help = "",
     .group = Group::kNumbers,
     .apply = SetAttention,
     .words = WordsUpTo<AttentionImplementation::kCudnn>},
    {.name = "loss",
     .metavar = "WORD",
     .help = "kernel of the cross entropy",
     .group = Group::kNumbers,
     .apply = SetLoss,
     .words = WordsUpTo<LossKernel::kCompiled>},
    {.name = "liger-kernels",
     .aliases = "use-liger-kernel",
     .help = "fused norm, rotary and activation kernels",
     .group = Group::kNumbers,
     .apply = SetLiger,
     .can_be_negated = true},
    {.name = "lora-r",
     .aliases = "lora-rank",
     .metavar = "N",
     .help = "rank of the adapters",
     .group = Group::kLora,
     .commands = kAllCommands | kModelsBit,
     .apply = SetLoraRank},
    {.name = "lora-targets",
     .aliases = "lora-target lora-target-modules",
     .metavar = "NAMES",
     .help = "modules with adapters: all-linear, or q_proj,v_proj",
     .group = Group::kLora,
     .commands = kAllCommands | kModelsBit,
     .apply = SetLoraTargets},
    {.name = "lora-dropout",
     .metavar = "P",
     .help = "",
     .group = Group::kLora,
     .apply = SetLoraDropout},
    {.name = "modules-to-save",
     .aliases = "lora-modules-to-save",
     .metavar = "NAMES",
     .help = "modules trained whole beside the adapters",
     .group = Group::kLora,
     .commands = kAllCommands | kModelsBit,
     .apply = SetModulesToSave},
    {.name = "double-quantization",
     .aliases = "bnb-4bit-use-double-quant",
     .help = "quantize the scales of 4-bit weights as well",
     .group = Group::kLora,
     .apply = SetDoubleQuantization,
     .can_be_negated = true},
    {.name = "framework",
     .metavar = "NAME[@VERSIONS]",
     .help = "whose defaults fill in the rest; versions as in trl@torch==2.6.0,trl==0.19.0",
     .group = Group::kFramework,
     .apply = SetFramework},
    {.name = "catalog",
     .metavar = "FILE",
     .help = "own GPUs, machines, prices, links and models, on top of the built-in ones",
     .group = Group::kCatalog,
     .commands = kAllCommands | kTableCommands | kCheckBit | kOomBit | kValidateBit | kPricesBit,
     .apply = SetText<&Request::catalog>},
    {.name = "sort",
     .metavar = "COLUMN",
     .help = "rows by a column; -COLUMN: the largest first",
     .group = Group::kCatalog,
     .commands = kTableCommands,
     .apply = SetText<&Request::sort>},
    {.name = "columns",
     .metavar = "NAMES",
     .help = "which columns, as in id,memory,price",
     .group = Group::kCatalog,
     .commands = kTableCommands,
     .apply = SetColumns},
    {.name = "tensors",
     .help = "every tensor of one model",
     .group = Group::kCatalog,
     .commands = kModelsBit,
     .apply = SetSwitch<&Request::tensors>},
    {.name = "adapter",
     .metavar = "FILE",
     .help = "PEFT's adapter_config.json: what it trains of one model",
     .group = Group::kCatalog,
     .commands = kModelsBit,
     .apply = SetText<&Request::adapter>},
    {.name = "csv",
     .help = "the table for spreadsheets",
     .group = Group::kOutput,
     .commands = kTableCommands,
     .apply = SetSwitch<&Request::csv>},
    {.name = "provider",
     .metavar = "NAME",
     .help = "whose prices they are; otherwise the file's or folder's name",
     .group = Group::kCatalog,
     .commands = kPricesBit,
     .apply = SetText<&Request::provider>},
    {.name = "date",
     .metavar = "DAY",
     .help = "of which day the prices are, as 2026-11-09; otherwise the file's",
     .group = Group::kCatalog,
     .commands = kPricesBit,
     .apply = SetDate},
    {.name = "write",
     .metavar = "FILE",
     .help = "write the catalogue file there instead of showing it",
     .group = Group::kOutput,
     .commands = kPricesBit,
     .apply = SetText<&Request::write>},
    {.name = "fix",
     .metavar = "FILE",
     .help = "write the file with the smallest change that fits there: itself, or another path",
     .group = Group::kOutput,
     .commands = kCheckBit,
     .apply = SetText<&Request::fix>},
    {.name = "trace",
     .metavar = "FILE",
     .help = "write the step's timeline there, for Perfetto or chrome://tracing",
     .group = Group::kOutput,
     .commands = kFitBit,
     .apply = SetText<&Request::trace>},
    {.name = "explain-difference",
     .metavar = "FIGURE",
     .help = "why somebody else's figure for this run is another: 24, 24GB, 22.4GiB",
     .group = Group::kOutput,
     .commands = kCheckBit,
     .apply = SetFigure},
    {.name = "strict",
     .help = "a tight fit counts as none (exit status 1)",
     .group = Group::kOutput,
     .commands = kFitBit | kCheckBit,
     .apply = SetSwitch<&Request::strict>},
    {.name = "explain",
     .help = "formula and source of every number",
     .group = Group::kOutput,
     .commands = kAllCommands | kCheckBit | kOomBit,
     .apply = SetSwitch<&Request::explain>},
    {.name = "json",
     .help = "the answer for programs",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetSwitch<&Request::json>},
    {.name = "by",
     .metavar = "WHAT",
     .help = "what the summaries are about",
     .group = Group::kOutput,
     .commands = kValidateBit,
     .apply = SetGroupBy,
     .words = GroupWords},
    {.name = "worst",
     .metavar = "N",
     .help = "show the N rows with the largest errors, and what they are made of",
     .group = Group::kOutput,
     .commands = kValidateBit,
     .apply = SetWorst},
    {.name = "write-accuracy",
     .metavar = "FILE",
     .help = "write the page docs/accuracy.md",
     .group = Group::kOutput,
     .commands = kValidateBit,
     .apply = SetText<&Request::write_accuracy>},
    {.name = "width",
     .metavar = "COLUMNS",
     .help = "instead of the terminal's, 60 to 200",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetWidth},
    {.name = "no-color",
     .aliases = "no-colour",
     .help = "no colours (so does NO_COLOR in the environment)",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetSwitch<&Request::no_color>},
    {.name = "ascii",
     .help = "no signs beyond ASCII",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetSwitch<&Request::ascii>},
    {.name = "help",
     .help = "this text",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetSwitch<&Request::help>},
    {.name = "version",
     .help = "",
     .group = Group::kOutput,
     .commands = kEveryCommand,
     .apply = SetSwitch<&Request::version>},
};

}  // namespace

std::span<const Option> Options() { return kOptions; }

}  // namespace trainfit::cli
