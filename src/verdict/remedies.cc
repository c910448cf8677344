#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "verdict/judge.h"

namespace trainfit::verdict {
namespace {

using spec::Method;

// A change and its price; lower ranks hurt less. Empty: the change does not apply to this plan.
struct Change {
  std::string words;
  std::string cost;
  int rank = 0;
  Case question;
};
using Rule = std::optional<Change> (*)(const Case&, const plan::Plan&);

// Recomputing the forward pass once more: 8 P instead of 6 P FLOPs a token.
std::optional<Change> CheckpointActivations(const Case& question, const plan::Plan& plan) {
  if (plan.checkpointing == spec::Checkpointing::kFull) return std::nullopt;
  Change change{"--gradient-checkpointing", "about a third more compute (each layer runs twice)", 1,
                question};
  change.question.recipe.checkpointing = spec::Checkpointing::kFull;
  return change;
}

std::optional<Change> FuseLoss(const Case& question, const plan::Plan& plan) {
  if (plan.loss != spec::LossKernel::kPlain) return std::nullopt;
  Change change{"--loss liger", "none in speed; logits are not available", 0, question};
  change.question.recipe.loss = spec::LossKernel::kFusedLinear;
  return change;
}

std::optional<Change> UseSdpa(const Case& question, const plan::Plan& plan) {
  if (plan.attention != spec::AttentionImplementation::kEager) return std::nullopt;
  Change change{"--attention sdpa", "none", 0, question};
  change.question.recipe.attention = spec::AttentionImplementation::kSdpa;
  return change;
}

std::optional<Change> SmallerBatch(const Case& question, const plan::Plan& plan) {
  if (plan.micro_batch == 1) return std::nullopt;
  Change change{fmt::format("--micro-batch 1 --gradient-accumulation {}",
                            plan.micro_batch * plan.gradient_accumulation),
                "same batch, more and smaller micro-steps", 2, question};
  change.question.recipe.micro_batch = 1;
  change.question.recipe.gradient_accumulation = plan.micro_batch * plan.gradient_accumulation;
  return change;
}

std::optional<Change> ShardFully(const Case& question, const plan::Plan& plan) {
  const bool is_sharded = plan.parallel.sharding == spec::Sharding::kFsdp2 ||
                          plan.parallel.sharding == spec::Sharding::kZero3;
  if (plan.parallel.data == 1 || is_sharded) return std::nullopt;
  Change change{"--sharding fsdp2", "weights travel over the links in every step", 2, question};
  change.question.recipe.sharding = spec::Sharding::kFsdp2;
  return change;
}

std::optional<Change> ShrinkOptimizer(const Case& question, const plan::Plan& plan) {
  if (plan.optimizer != spec::Optimizer::kAdamW || plan.parallel.data > 1) return std::nullopt;
  Change change{"--optimizer adamw-8bit", "8-bit moments (bitsandbytes); quality nearly the same",
                3, question};
  change.question.recipe.optimizer = spec::Optimizer::kAdamW8bit;
  change.question.recipe.optimizer_loop.reset();
  return change;
}

std::optional<Change> ShortenSequences(const Case& question, const plan::Plan& plan) {
  constexpr std::int64_t kShortest = 512;
  if (plan.sequence_length <= kShortest) return std::nullopt;
  const std::int64_t half = std::max(kShortest, plan.sequence_length / 2);
  Change change{fmt::format("--seq-len {}", half), "longer examples are cut", 5, question};
  change.question.recipe.sequence_length = half;
  return change;
}

std::optional<Change> PureHalfPrecision(const Case& question, const plan::Plan& plan) {
  const bool applies = plan.method == Method::kFull &&
                       plan.precision == spec::Precision::kBf16Mixed &&
                       !question.recipe.load_dtype.has_value();
  if (!applies) return std::nullopt;
  Change change{"--precision bf16-pure",
                "no fp32 master weights: small updates can be lost in rounding", 4, question};
  change.question.recipe.precision = spec::Precision::kBf16Pure;
  return change;
}

// Frozen weights that are loaded in fp32, as TRL does unless it is told otherwise.
std::optional<Change> LoadInHalf(const Case& question, const plan::Plan& plan) {
  const bool applies = plan.method != Method::kFull &&
                       question.recipe.load_dtype == spec::Dtype::kFp32 &&
                       plan.compute_dtype != spec::Dtype::kFp32;
  if (!applies) return std::nullopt;
  Change change{fmt::format("--load-dtype {}", Name(plan.compute_dtype)),
                "none: the frozen weights are used in it anyway", 0, question};
  change.question.recipe.load_dtype = plan.compute_dtype;
  return change;
}

std::optional<Change> UseLora(const Case& question, const plan::Plan& plan) {
  if (plan.method != Method::kFull) return std::nullopt;
  Change change{"--method lora", "trains adapters, not the model", 6, question};
  change.question.recipe.method = Method::kLora;
  change.question.recipe.load_dtype.reset();
  return change;
}

std::optional<Change> UseQlora(const Case& question, const plan::Plan& plan) {
  if (plan.method == Method::kQlora) return std::nullopt;
  Change change{"--method qlora", "trains adapters over a 4-bit base; slower steps", 7, question};
  change.question.recipe.method = Method::kQlora;
  change.question.recipe.load_dtype.reset();
  return change;
}

std::optional<Change> MoreGpus(const Case& question, const plan::Plan& plan) {
  const std::int64_t gpus = plan.parallel.data;
  constexpr std::int64_t kPerNode = 8;
  if (question.machine.nodes > 1 || gpus >= kPerNode) return std::nullopt;
  Change change{fmt::format("--on {}x{} --sharding fsdp2", gpus * 2, question.machine.gpu.id),
                "twice the price an hour", 5, question};
  change.question.machine.gpus_per_node = gpus * 2;
  change.question.recipe.sharding = spec::Sharding::kFsdp2;
  return change;
}

constexpr std::array<Rule, 12> kRules = {
    LoadInHalf,       FuseLoss,   UseSdpa,         CheckpointActivations,
    SmallerBatch,     ShardFully, ShrinkOptimizer, PureHalfPrecision,
    ShortenSequences, MoreGpus,   UseLora,         UseQlora,
};

struct Judged {
  Remedy remedy;
  int rank = 0;
};

// Those that fit come first, by what they cost; then those that nearly fit; then by bytes saved.
bool IsBetter(const Judged& a, const Judged& b) {
  const auto key = [](const Judged& j) {
    const bool fits = j.remedy.fit == Fit::kFits;
    const bool tight = j.remedy.fit == Fit::kTight;
    return std::pair(fits ? 0 : tight ? 1 : 2, fits ? j.rank : 0);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return a.remedy.saves > b.remedy.saves;
}

}  // namespace

std::vector<Remedy> FindRemedies(const Case& question, const Answer& answer) {
  const PlaceAnswer& asked = HighestGpu(answer);
  std::vector<Judged> judged;
  for (const Rule rule : kRules) {
    const std::optional<Change> change = rule(question, answer.plan);
    if (!change.has_value()) continue;
    // In full, as the changed case would be answered if it were asked.
    const auto result = Judge(change->question);
    if (!result.has_value()) continue;  // the change contradicts something the user fixed
    const PlaceAnswer& gpu = HighestGpu(*result);
    const Bytes saves = asked.bytes.point - gpu.bytes.point;
    if (saves <= Bytes()) continue;
    judged.push_back(
        {{change->words, change->cost, gpu.fit, gpu.bytes.point, saves}, change->rank});
  }
  std::stable_sort(judged.begin(), judged.end(), IsBetter);
  std::vector<Remedy> remedies;
  remedies.reserve(judged.size());
  for (Judged& j : judged) remedies.push_back(std::move(j.remedy));
  return remedies;
}

}  // namespace trainfit::verdict
