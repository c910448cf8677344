#include "validate/frameworks_known.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "frameworks/registry.h"
#include "validate/read_as.h"

namespace trainfit::validate {
namespace {

using plan::Version;

constexpr KnownFramework Megatron(std::string_view name, std::string_view facts) {
  return {.name = name,
          .facts = facts,
          .has_autocast = false,
          .source = "Megatron's own flags",
          .splits_models = true};
}

constexpr std::array kFrameworks = {
    KnownFramework{"hf-trainer/trl (fms-hf-tuning)", "huggingface", false, false,
                   "fms-hf-tuning tuning/sft_trainer.py: SFTTrainer; autocast by its bf16/fp16 "
                   "flags, which the records give"},
    KnownFramework{"HF Trainer (fms-hf-tuning sft_trainer)", "huggingface", false, false,
                   "the same, in tables of speed"},
    KnownFramework{"HF Trainer", "transformers", true, false, "transformers Trainer"},
    KnownFramework{"ms-swift (HF Trainer)", "transformers", true, false, "as below"},
    KnownFramework{"trl", "huggingface", true, false, "trl"},
    KnownFramework{"trl SFTTrainer", "huggingface", true, false, "trl"},
    KnownFramework{"hf-trainer", "transformers", true, false,
                   "transformers Trainer with --bf16 or --fp16: accelerate wraps forward"},
    KnownFramework{"ms-swift (hf-trainer)", "transformers", true, false,
                   "ms-swift trainers are Seq2SeqTrainer; bf16=True whenever dtype is bf16; "
                   "swift/config/zero2.json: reduce_bucket_size 2e8",
                   200'000'000},
    KnownFramework{"transformers", "transformers", true, false, "transformers Trainer"},
    KnownFramework{"fsdp", "transformers", true, false, "transformers Trainer with --fsdp"},
    KnownFramework{"accelerate", "transformers", true, false,
                   "transformers models under accelerate.prepare"},
    KnownFramework{"ms-swift", "transformers", true, false, "as ms-swift (hf-trainer)",
                   200'000'000},
    KnownFramework{"qwen finetune.py", "transformers", true, false,
                   "QwenLM/Qwen finetune.py: transformers Trainer"},
    KnownFramework{"alpaca-lora", "transformers", true, false,
                   "tloen/alpaca-lora finetune.py: transformers Trainer"},
    KnownFramework{"fastchat", "transformers", true, false,
                   "FastChat train/train.py: transformers Trainer"},
    KnownFramework{"xtuner", "transformers", true, false,
                   "xtuner: transformers models under DeepSpeed, zero2 and zero3 configurations "
                   "with the default buckets",
                   500'000'000},
    KnownFramework{"deepspeed-chat", "transformers", true, false,
                   "DeepSpeedExamples applications/DeepSpeed-Chat: transformers models under "
                   "deepspeed.initialize",
                   500'000'000},
    KnownFramework{"h2o-llmstudio", "transformers", true, false,
                   "h2o-llmstudio train.py: transformers models under deepspeed.initialize",
                   500'000'000},
    KnownFramework{"deepspeed", "transformers", true, false,
                   "transformers models under deepspeed.initialize; deepspeed zero/config.py: "
                   "reduce_bucket_size 5e8",
                   500'000'000},
    KnownFramework{"peft example", "transformers", true, false, "peft examples/: Trainer"},
    KnownFramework{"llama-factory", "transformers", true, false,
                   "LLaMA-Factory train/sft: Seq2SeqTrainer"},
    KnownFramework{"axolotl", "transformers", true, false, "axolotl core/trainers: Trainer"},
    KnownFramework{"peft (custom loop)", "transformers", false, true,
                   "peft method_comparison/MetaMathQA/run.py: model(**batch) and torch.optim, "
                   "autocast by use_amp"},
    Megatron("megatron", "megatron"),
    Megatron("megatron-lm", "megatron"),
    Megatron("megatron-core", "megatron"),
    Megatron("Megatron-LM", "megatron"),
    Megatron("megatron-deepspeed", "megatron-deepspeed"),
    Megatron("Megatron-DeepSpeed", "megatron-deepspeed"),
    Megatron("megatron-bridge", "megatron-bridge"),
    Megatron("nemo (Megatron-Core)", "nemo"),
    Megatron("NeMo/Megatron-Core", "nemo"),
    KnownFramework{.name = "llm-foundry (composer fsdp)",
                   .facts = "composer",
                   .source = "llm-foundry scripts/train/yamls/pretrain",
                   .has_plain_gpt = true},
    KnownFramework{.name = "llm-foundry (Composer + PyTorch FSDP)",
                   .facts = "composer",
                   .source = "the same, in tables of speed",
                   .has_plain_gpt = true},
    KnownFramework{.name = "fsdp_qlora train.py (PyTorch FSDP)",
                   .facts = "fsdp_qlora",
                   .has_autocast = false,
                   .has_plain_optimizer = true,
                   .source = "fsdp_qlora train.py"},
    KnownFramework{.name = "torchtitan",
                   .facts = "torchtitan",
                   .source = "torchtitan/train.py",
                   .fsdp = spec::Sharding::kFsdp2,
                   .has_selective = true,
                   .splits_layers = true},
    // torchtitan's LLaMA is the nearest of those with fact rows: plain modules, one block a unit.
    KnownFramework{.name = "fms-fsdp",
                   .facts = "torchtitan",
                   .has_autocast = false,
                   .has_plain_optimizer = true,
                   .source = "fms_fsdp/policies/mixed_precision.py: bfSixteen",
                   .fsdp = spec::Sharding::kFsdp1},
    KnownFramework{.name = "litgpt",
                   .facts = "litgpt",
                   .has_autocast = false,
                   .has_plain_optimizer = true,
                   .source = "litgpt/finetune/*.py",
                   .names_parts = true,
                   .unties_head = true},
    KnownFramework{.name = "torchtune",
                   .facts = "torchtune",
                   .has_autocast = false,
                   .source = "torchtune/recipes",
                   .fsdp = spec::Sharding::kFsdp2,
                   .names_parts = true,
                   .chunks_loss_by_choice = true},
    KnownFramework{.name = "fsdp_qlora (train.py)",
                   .facts = "fsdp_qlora",
                   .has_autocast = false,
                   .has_plain_optimizer = true,
                   .source = "fsdp_qlora train.py"},
};

struct Release {
  std::string_view package;
  Version version;
  int month = 0;  // year × 12 + month of its upload to PyPI
};

constexpr int Month(int year, int month) { return year * 12 + month; }

// First releases of the minor versions around which fact rows change, and of those in between that
// records name; oldest first within a package.
constexpr std::array kReleases = std::to_array<Release>({
    {"torch", {1, 13, 0}, Month(2022, 10)},
    {"torch", {2, 0, 0}, Month(2023, 3)},
    {"torch", {2, 1, 0}, Month(2023, 10)},
    {"torch", {2, 2, 0}, Month(2024, 1)},
    {"torch", {2, 3, 0}, Month(2024, 4)},
    {"torch", {2, 4, 0}, Month(2024, 7)},
    {"torch", {2, 5, 0}, Month(2024, 10)},
    {"torch", {2, 6, 0}, Month(2025, 1)},
    {"torch", {2, 7, 0}, Month(2025, 4)},
    {"torch", {2, 8, 0}, Month(2025, 8)},
    {"torch", {2, 9, 0}, Month(2025, 10)},
    {"torch", {2, 10, 0}, Month(2026, 1)},
    {"transformers", {4, 28, 0}, Month(2023, 4)},
    {"transformers", {4, 31, 0}, Month(2023, 7)},
    {"transformers", {4, 35, 0}, Month(2023, 11)},
    {"transformers", {4, 36, 0}, Month(2023, 12)},
    {"transformers", {4, 38, 0}, Month(2024, 2)},
    {"transformers", {4, 40, 0}, Month(2024, 4)},
    {"transformers", {4, 43, 0}, Month(2024, 7)},
    {"transformers", {4, 45, 0}, Month(2024, 9)},
    {"transformers", {4, 46, 0}, Month(2024, 10)},
    {"transformers", {4, 48, 0}, Month(2025, 1)},
    {"transformers", {4, 49, 0}, Month(2025, 2)},
    {"transformers", {4, 51, 0}, Month(2025, 4)},
    {"transformers", {4, 52, 0}, Month(2025, 5)},
    {"transformers", {4, 55, 0}, Month(2025, 8)},
    {"transformers", {4, 57, 0}, Month(2025, 10)},
    {"transformers", {5, 0, 0}, Month(2026, 1)},
    {"trl", {0, 7, 0}, Month(2023, 8)},
    {"trl", {0, 11, 0}, Month(2024, 9)},
    {"trl", {0, 17, 0}, Month(2025, 4)},
    {"trl", {0, 20, 0}, Month(2025, 7)},
    {"peft", {0, 4, 0}, Month(2023, 7)},
    {"peft", {0, 6, 0}, Month(2023, 11)},
    {"peft", {0, 8, 0}, Month(2024, 1)},
    {"peft", {0, 12, 0}, Month(2024, 7)},
    {"peft", {0, 15, 0}, Month(2025, 3)},
    {"peft", {0, 18, 0}, Month(2025, 11)},
    {"accelerate", {0, 20, 0}, Month(2023, 6)},
    {"accelerate", {0, 27, 0}, Month(2024, 2)},
    {"accelerate", {1, 0, 0}, Month(2024, 10)},
    {"accelerate", {1, 6, 0}, Month(2025, 4)},
    {"accelerate", {1, 10, 0}, Month(2025, 8)},
    {"bitsandbytes", {0, 41, 0}, Month(2023, 7)},
    {"bitsandbytes", {0, 43, 0}, Month(2024, 3)},
    {"bitsandbytes", {0, 45, 0}, Month(2024, 12)},
    {"bitsandbytes", {0, 48, 0}, Month(2025, 10)},
    {"deepspeed", {0, 9, 0}, Month(2023, 4)},
    {"deepspeed", {0, 10, 0}, Month(2023, 7)},
    {"deepspeed", {0, 12, 0}, Month(2023, 10)},
    {"deepspeed", {0, 13, 0}, Month(2024, 1)},
    {"deepspeed", {0, 13, 3}, Month(2024, 2)},
    {"deepspeed", {0, 15, 0}, Month(2024, 8)},
    {"deepspeed", {0, 16, 0}, Month(2024, 11)},
    {"deepspeed", {0, 17, 0}, Month(2025, 6)},
    {"deepspeed", {0, 18, 0}, Month(2025, 10)},
    {"deepspeed", {0, 18, 3}, Month(2025, 12)},
});

constexpr std::array<std::string_view, 8> kPackages = {
    "torch",      "transformers", "trl",       "peft",
    "accelerate", "bitsandbytes", "deepspeed", "fms-acceleration-peft"};

struct Named {
  std::string_view package;
  std::string version;
};

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// "torch 2.4.1, transformers 4.45.2, flash-attn 2.7.0" → the packages that fact rows know.
std::vector<Named> ReadVersions(std::string_view text) {
  std::vector<Named> named;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find_first_of(",;"), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t space = std::min(item.find_first_of(" ="), item.size());
    const auto package = std::find(kPackages.begin(), kPackages.end(), item.substr(0, space));
    const std::size_t digit = item.find_first_of("0123456789", space);
    if (package == kPackages.end() || digit == std::string_view::npos) continue;
    const std::string_view rest = item.substr(digit);
    named.push_back({*package, std::string(rest.substr(0, rest.find(' ')))});
  }
  return named;
}

// The same for Megatron's stacks: "Megatron-LM 23e00ed, TransformerEngine 2.11, torch 2.10".
std::string MegatronVersions(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"TransformerEngine ", "transformer-engine"}, {"torch ", "torch"}};
  std::string versions;
  for (const auto& [written, package] : kNames) {
    const std::size_t at = text.find(written);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + written.size());
    const std::size_t end = rest.find_first_not_of("0123456789.");
    if (end == 0 || rest.empty()) continue;
    if (!versions.empty()) versions += ' ';
    versions += std::string(package) + "==" + std::string(rest.substr(0, end));
  }
  return versions;
}

// When the version came out: the month of the last release that is not newer. 0: before them all.
int MonthOf(std::string_view package, Version version) {
  int month = 0;
  for (const Release& release : kReleases) {
    if (release.package == package && release.version <= version) month = release.month;
  }
  return month;
}

std::optional<Version> CurrentIn(std::string_view package, int month) {
  std::optional<Version> current;
  for (const Release& release : kReleases) {
    if (release.package == package && release.month <= month) current = release.version;
  }
  return current;
}

bool IsNamed(const std::vector<Named>& named, std::string_view package) {
  return std::any_of(named.begin(), named.end(),
                     [&](const Named& item) { return item.package == package; });
}

}  // namespace

FrameworkMatch MatchFramework(std::string_view written) {
  FrameworkMatch match;
  const std::size_t plus = std::min(written.rfind('+'), written.size());
  const std::string_view suffix = Trim(written.substr(std::min(plus + 1, written.size())));
  if (suffix == "fsdp" || suffix == "accelerate FSDP") match.spreader = Spreader::kFsdp1;
  if (suffix == "deepspeed" || suffix == "DeepSpeed") match.spreader = Spreader::kDeepSpeed;
  match.name = match.spreader == Spreader::kNone ? written : Trim(written.substr(0, plus));
  if (written == "fsdp") match.spreader = Spreader::kFsdp1;  // Trainer's flag, by itself
  const auto find = [&](std::string_view name) {
    for (const KnownFramework& known : kFrameworks) {
      if (known.name == name) match.known = &known;
    }
  };
  const ReadAs* whole = FindReadAs(written);
  const ReadAs* likeness = whole != nullptr ? whole : FindReadAs(match.name);
  find(likeness != nullptr ? likeness->as : std::string_view(match.name));
  return match;
}

Expected<plan::FactTable> FactsOf(const KnownFramework& framework, std::string_view versions) {
  ASSIGN_OR_RETURN(const plan::FactTable current, frameworks::FindFacts(framework.facts, ""));
  const auto has = [&](std::string_view package) {
    return std::any_of(current.stack().packages.begin(), current.stack().packages.end(),
                       [&](const plan::Package& p) { return p.name == package; });
  };
  std::vector<Named> named = ReadVersions(versions);
  std::erase_if(named, [&](const Named& item) { return !has(item.package); });
  std::string text;
  int newest = 0;
  for (const Named& item : named) {
    text += (text.empty() ? "" : " ") + std::string(item.package) + "==" + item.version;
    newest = std::max(newest, MonthOf(item.package, plan::ParseVersion(item.version)));
  }
  // Megatron's packages are not those of the Hugging Face stack.
  if (framework.splits_models) {
    return frameworks::FindFacts(framework.facts, MegatronVersions(versions));
  }
  for (const std::string_view package : kPackages) {
    if (newest == 0 || !has(package) || IsNamed(named, package)) continue;
    const auto release = CurrentIn(package, newest);
    if (release) text += " " + std::string(package) + "==" + plan::Text(*release);
  }
  return frameworks::FindFacts(framework.facts, text);
}

}  // namespace trainfit::validate
