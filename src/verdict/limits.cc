#include <algorithm>
#include <array>
#include <functional>

#include "verdict/capacity.h"
#include "verdict/judge.h"

namespace trainfit::verdict {
namespace {

constexpr std::int64_t kLargestMicroBatch = std::int64_t{1} << 16;
constexpr std::int64_t kLargestSequence = std::int64_t{1} << 22;
// Lengths are searched in steps of one flash-attention row block; shorter steps change nothing.
constexpr std::int64_t kSequenceStep = 128;

// Looks on summaries, with the allocator's overhead that the case as asked was found to have.
class Search {
 public:
  Search(const Case& question, std::optional<double> ratio) : question_(question), ratio_(ratio) {}

  using Change = void (*)(Case&, std::int64_t);

  // The largest value that fits by the summary and through which the allocator gets on this card.
  std::optional<std::int64_t> Largest(std::int64_t largest, Change change) const;
  // Unset: the case contradicts itself.
  std::optional<Bytes> Need(const Case& changed) const {
    const auto answer = JudgeQuickly(changed, ratio_);
    if (!answer.has_value()) return std::nullopt;
    return answer->gpu.point;
  }

 private:
  const Case& question_;
  std::optional<double> ratio_;
};

// Largest value in [1, largest] whose need is within the capacity. Live bytes grow with the value
// (a law of the program) and nearly in proportion, so the guess is drawn on a straight line through
// the ends of the bracket; every other step halves it, which bounds the number of steps.
using NeedOf = std::function<std::optional<Bytes>(std::int64_t)>;
std::optional<std::int64_t> LargestWithin(Bytes capacity, std::int64_t largest,
                                          const NeedOf& need) {
  const std::optional<Bytes> at_one = need(1);
  if (!at_one.has_value() || *at_one > capacity) return std::nullopt;
  struct End {
    std::int64_t value;
    double bytes;
  };
  constexpr double kImpossible = 1e300;
  const auto bytes_at = [&](std::int64_t value) {
    const std::optional<Bytes> bytes = need(value);
    return bytes.has_value() ? static_cast<double>(bytes->value()) : kImpossible;
  };
  const auto room = static_cast<double>(capacity.value());
  End good{1, static_cast<double>(at_one->value())};
  End bad{largest + 1, 0};  // its need is not known until one was found
  std::int64_t guess = 2;
  for (bool halve = false; bad.value - good.value > 1; halve = !halve) {
    guess = std::clamp(guess, good.value + 1, bad.value - 1);
    const double bytes = bytes_at(guess);
    const End before = good;
    const bool fits = bytes <= room;
    (fits ? good : bad) = {guess, bytes};
    const End& other = !fits ? bad : bad.bytes > 0 ? bad : before;
    const double slope = (other.bytes - good.bytes) / static_cast<double>(other.value - good.value);
    const bool on_line = slope > 0 && other.bytes > 0 && (!halve || bad.bytes == 0);
    guess = on_line ? good.value + static_cast<std::int64_t>(std::min((room - good.bytes) / slope,
                                                                      static_cast<double>(largest)))
                    : good.value + (bad.value - good.value) / 2;
    // Right beside the last good value: most often the line ends there.
    if (guess == good.value) guess = good.value + 1;
  }
  return good.value;
}

std::optional<std::int64_t> Search::Largest(std::int64_t largest, Change change) const {
  constexpr int kTries = 8;
  constexpr std::int64_t kFine = 16;  // a bracket narrower than a sixteenth is not halved further
  const auto changed_to = [&](std::int64_t value) {
    Case changed = question_;
    change(changed, value);
    return changed;
  };
  Bytes room = GpuCapacity(question_.machine);
  Bytes step(room.value() / 64);
  std::int64_t fails = largest + 1;
  std::optional<std::int64_t> runs;
  for (int i = 0; i < kTries && (!runs || fails - *runs > 1 + *runs / kFine); ++i) {
    std::optional<std::int64_t> next;
    if (runs.has_value()) {
      next = *runs + (fails - *runs) / 2;
    } else {
      next = LargestWithin(room, fails - 1,
                           [&](std::int64_t value) { return Need(changed_to(value)); });
    }
    if (!next.has_value()) return std::nullopt;
    const auto shortage = FindShortage(changed_to(*next));
    if (shortage.has_value() && !shortage->has_value()) {
      runs = next;
      if (i == 0) return runs;  // nothing above it fits by the summary
      continue;
    }
    fails = *next;
    if (fails <= 1) return std::nullopt;
    // Free memory was there, but not in one piece: leave room for one more request like that.
    if (shortage.has_value()) step = std::max(step, (*shortage)->requested);
    room -= step;
    step = step * 2;
  }
  return runs;
}

// Fully sharded over the GPUs of one node, then whole nodes of 8.
std::optional<std::int64_t> FewestGpus(const Case& question, const Search& search) {
  constexpr std::array<std::int64_t, 19> kCounts = {1,  2,  3,  4,  5,   6,   7,   8,   16,  24,
                                                    32, 48, 64, 96, 128, 192, 256, 512, 1024};
  constexpr std::int64_t kPerNode = 8;
  const Bytes capacity = GpuCapacity(question.machine);
  const auto fewest = std::partition_point(kCounts.begin(), kCounts.end(), [&](std::int64_t gpus) {
    Case changed = question;
    changed.machine.nodes = std::max<std::int64_t>(1, gpus / kPerNode);
    changed.machine.gpus_per_node = std::min(gpus, kPerNode);
    changed.recipe.sharding = gpus > 1 ? spec::Sharding::kFsdp2 : spec::Sharding::kNone;
    const std::optional<Bytes> need = search.Need(changed);
    return !need.has_value() || *need > capacity;
  });
  if (fewest == kCounts.end()) return std::nullopt;
  return *fewest;
}

}  // namespace

Limits FindLimits(const Case& question, const Answer& answer) {
  const Search search(question, ReservedRatio(HighestGpu(answer)));
  Limits limits;
  limits.max_micro_batch = search.Largest(
      kLargestMicroBatch, [](Case& changed, std::int64_t n) { changed.recipe.micro_batch = n; });
  const auto steps = search.Largest(
      kLargestSequence / kSequenceStep,
      [](Case& changed, std::int64_t n) { changed.recipe.sequence_length = n * kSequenceStep; });
  if (steps.has_value()) limits.max_sequence_length = *steps * kSequenceStep;
  limits.min_gpus = FewestGpus(question, search);
  return limits;
}

}  // namespace trainfit::verdict
