#include "verdict/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

namespace trainfit::verdict {
namespace {

// An assumption that tables make and this run does not.
struct Variant {
  std::string words;
  std::function<void(Case&)> apply;
};

std::vector<Variant> VariantsOf(const plan::Plan& plan) {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string words, std::function<void(Case&)> apply) {
    variants.push_back({std::move(words), std::move(apply)});
  };
  if (plan.micro_batch > 1) {
    add(fmt::format("micro-batch 1, not {}", plan.micro_batch),
        [](Case& c) { c.recipe.micro_batch = 1; });
  }
  static constexpr std::int64_t kTableLength = 512;
  if (plan.sequence_length > kTableLength) {
    add(fmt::format("{} tokens, not {}", kTableLength, plan.sequence_length),
        [](Case& c) { c.recipe.sequence_length = kTableLength; });
  }
  if (plan.checkpointing == spec::Checkpointing::kNone) {
    add("activation checkpointing, not without",
        [](Case& c) { c.recipe.checkpointing = spec::Checkpointing::kFull; });
  }
  if (plan.method == spec::Method::kFull && plan.weight_dtype == spec::Dtype::kFp32) {
    add("weights and states in bf16, not fp32", [](Case& c) {
      c.recipe.precision = spec::Precision::kBf16Pure;
      c.recipe.load_dtype.reset();
    });
  }
  if (plan.method != spec::Method::kFull && plan.weight_dtype == spec::Dtype::kFp32) {
    add("frozen weights in bf16, not fp32",
        [](Case& c) { c.recipe.load_dtype = spec::Dtype::kBf16; });
  }
  if (plan.method == spec::Method::kLora) {
    add("4-bit weights (QLoRA), not 16 or 32 bits", [](Case& c) {
      c.recipe.method = spec::Method::kQlora;
      c.recipe.load_dtype.reset();
    });
  }
  if (plan.method == spec::Method::kFull && plan.optimizer == spec::Optimizer::kAdamW) {
    add("an 8-bit optimizer, not AdamW in 32 bits", [](Case& c) {
      c.recipe.optimizer = spec::Optimizer::kAdamW8bit;
      c.recipe.optimizer_loop.reset();
    });
  }
  if (plan.loss == spec::LossKernel::kPlain) {
    add("a fused loss, not whole logits",
        [](Case& c) { c.recipe.loss = spec::LossKernel::kFusedLinear; });
  }
  const bool is_sharded = plan.parallel.sharding != spec::Sharding::kNone &&
                          plan.parallel.sharding != spec::Sharding::kDdp;
  if (plan.parallel.data > 1 && !is_sharded) {
    add("weights and states shared among the GPUs, not a copy on each",
        [](Case& c) { c.recipe.sharding = spec::Sharding::kFsdp2; });
  }
  return variants;
}

std::optional<Bytes> Needed(const Case& question, std::optional<double> ratio) {
  const auto result = JudgeQuickly(question, ratio);
  if (!result.has_value()) return std::nullopt;
  return result->gpu.point;
}

std::int64_t Distance(Bytes a, Bytes b) { return std::abs(a.value() - b.value()); }

}  // namespace

Expected<Difference> ExplainDifference(const Case& question, const Answer& answer, Bytes figure) {
  ASSIGN_OR_RETURN(const plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                            question.machine, question.facts));
  const PlaceAnswer& asked = HighestGpu(answer);
  const std::optional<double> ratio = ReservedRatio(asked);
  Difference difference;
  difference.figure = figure;
  difference.nearest = asked.bytes.point;
  std::vector<Variant> variants;
  for (Variant& variant : VariantsOf(plan)) {
    Case changed = question;
    variant.apply(changed);
    const std::optional<Bytes> bytes = Needed(changed, ratio);
    if (!bytes) continue;  // contradicts something else that the run has
    difference.alone.push_back({variant.words, *bytes, false});
    variants.push_back(std::move(variant));
  }
  // Fewer assumptions win over a slightly nearer number.
  std::size_t nearest = 0;
  double best = static_cast<double>(Distance(asked.bytes.point, figure));
  const double step = 0.02 * static_cast<double>(figure.value());
  for (std::size_t set = 1; set < (std::size_t{1} << variants.size()); ++set) {
    Case changed = question;
    int count = 0;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      variants[i].apply(changed);
      ++count;
    }
    const std::optional<Bytes> bytes = Needed(changed, ratio);
    if (!bytes) continue;
    const double distance = static_cast<double>(Distance(*bytes, figure)) + step * count;
    if (distance >= best) continue;
    best = distance;
    nearest = set;
    difference.nearest = *bytes;
  }
  for (std::size_t i = 0; i < difference.alone.size(); ++i) {
    difference.alone[i].is_in_nearest = (nearest >> i & 1) != 0;
  }
  difference.is_explained = Distance(difference.nearest, figure) * 10 <= figure.value();
  std::stable_sort(
      difference.alone.begin(), difference.alone.end(),
      [](const OtherAssumption& a, const OtherAssumption& b) { return a.bytes < b.bytes; });
  return difference;
}

}  // namespace trainfit::verdict
