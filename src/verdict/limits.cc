#include <algorithm>
#include <array>
#include <functional>

#include "verdict/judge.h"

namespace trainfit::verdict {
namespace {

constexpr std::int64_t kLargestMicroBatch = std::int64_t{1} << 16;
constexpr std::int64_t kLargestSequence = std::int64_t{1} << 22;
// Lengths are searched in steps of one flash-attention row block; shorter steps change nothing.
constexpr std::int64_t kSequenceStep = 128;

using Fits = std::function<bool(std::int64_t)>;

bool FitsQuickly(const Case& question) {
  const auto answer = JudgeQuickly(question);
  return answer.has_value() && answer->gpu.point <= answer->capacity;
}

// Largest value in [1, largest] for which `fits` holds. Live bytes grow with the value (a law of
// the program), so doubling and bisection find it.
std::optional<std::int64_t> LargestFitting(std::int64_t largest, const Fits& fits) {
  if (!fits(1)) return std::nullopt;
  std::int64_t good = 1;
  std::int64_t bad = 2;
  while (bad <= largest && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  bad = std::min(bad, largest + 1);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

std::optional<std::int64_t> LargestSequence(const Case& question) {
  const auto steps = LargestFitting(kLargestSequence / kSequenceStep, [&](std::int64_t n) {
    Case changed = question;
    changed.recipe.sequence_length = n * kSequenceStep;
    return FitsQuickly(changed);
  });
  if (!steps.has_value()) return std::nullopt;
  return *steps * kSequenceStep;
}

// Fully sharded over 1, 2, 4, 8 GPUs of one node, then whole nodes of 8.
std::optional<std::int64_t> FewestGpus(const Case& question) {
  constexpr std::array<std::int64_t, 11> kCounts = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  constexpr std::int64_t kPerNode = 8;
  for (const std::int64_t gpus : kCounts) {
    Case changed = question;
    changed.machine.nodes = std::max<std::int64_t>(1, gpus / kPerNode);
    changed.machine.gpus_per_node = std::min(gpus, kPerNode);
    changed.recipe.sharding = gpus > 1 ? spec::Sharding::kFsdp2 : spec::Sharding::kNone;
    if (FitsQuickly(changed)) return gpus;
  }
  return std::nullopt;
}

}  // namespace

Limits FindLimits(const Case& question) {
  Limits limits;
  limits.max_micro_batch = LargestFitting(kLargestMicroBatch, [&](std::int64_t n) {
    Case changed = question;
    changed.recipe.micro_batch = n;
    return FitsQuickly(changed);
  });
  limits.max_sequence_length = LargestSequence(question);
  limits.min_gpus = FewestGpus(question);
  return limits;
}

}  // namespace trainfit::verdict
