#include "verdict/judge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "frameworks/builder.h"
#include "memory/peak.h"
#include "memory/shortage.h"
#include "verdict/capacity.h"
#include "verdict/explain.h"
#include "verdict/node.h"
#include "verdict/step_time.h"

namespace trainfit::verdict {
namespace {

constexpr std::size_t kMaxPhases = 16;

Estimate From(const memory::Range& range) { return {range.point, range.low, range.high}; }

memory::RangeInputs Inputs(const plan::Plan& plan, const Fixed& fixed) {
  memory::RangeInputs inputs;
  inputs.varying_lengths = !plan.padding_free;
  inputs.several_ranks = plan.parallel.data > 1;
  inputs.outside = fixed.outside;
  return inputs;
}

// Parts of the allocated peak, then what the allocator and the driver add; the last one closes the
// sum with the point estimate.
std::vector<PartBytes> GpuParts(const plan::Plan& plan, const memory::PlaceReading& reading,
                                const Fixed& fixed, Bytes point) {
  std::vector<PartBytes> parts = ExplainParts(plan, reading.parts);
  for (const memory::OverheadRow& row : fixed.outside) {
    parts.push_back({std::string(row.name), row.bytes.point, row.basis,
                     "outside the allocator, not in torch's counters", std::string(row.source)});
  }
  Bytes sum;
  for (const PartBytes& part : parts) sum += part.bytes;
  if (sum != point) {
    parts.push_back({"allocator cache and fragmentation", point - sum, Basis::kDerived,
                     "reserved less allocated, from replaying the caching allocator",
                     "c10/cuda/CUDACachingAllocator.cpp"});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartBytes& a, const PartBytes& b) { return a.bytes > b.bytes; });
  return parts;
}

PlaceAnswer JudgeGpu(const plan::Plan& plan, const spec::Machine& machine, const Fixed& fixed,
                     const memory::PhaseReading& phase, bool can_shrink) {
  const memory::PlaceReading& reading = phase.at(program::Place::kGpu);
  memory::RangeInputs inputs = Inputs(plan, fixed);
  inputs.live_peak = reading.levels.peak;
  for (const memory::Part& part : reading.parts) {
    if (part.role == program::Role::kLogits) inputs.logits += part.bytes;
  }
  if (phase.gpu.has_value()) {
    inputs.replay_allocated = phase.gpu->allocated_peak;
    inputs.replay_reserved = phase.gpu->reserved_peak;
  }
  const memory::GpuRanges ranges = memory::MakeGpuRanges(inputs);
  PlaceAnswer answer;
  answer.place = program::Place::kGpu;
  answer.scope = "rank";
  answer.bytes = NeededBytes(ranges, fixed.outside, can_shrink);
  answer.capacity = GpuCapacity(machine);
  answer.fit = Compare(answer.bytes, *answer.capacity);
  answer.parts = GpuParts(plan, reading, fixed, answer.bytes.point);
  answer.peak_moment = DescribeMoment(plan, reading.moment);
  answer.readings =
      Readings{From(ranges.allocated), From(ranges.reserved), From(ranges.nvidia_smi)};
  return answer;
}

// The replay on a card without end. Where that caches more than this card has, the replay on the
// card: before the allocator fails it gives back what it does not use, and asks again
// (c10/cuda/CUDACachingAllocator.cpp, release_cached_blocks). When it fails even so, the numbers of
// the endless card say how much is missing.
struct OnCard {
  std::vector<memory::PhaseReading> readings;
  bool runs = true;  // the allocator got through all phases on this card
};
OnCard ReadOnCard(const program::RankProgram& rank, const Fixed& fixed,
                  const spec::Machine& machine) {
  memory::ReadOptions options;
  options.held = fixed.held;
  std::vector<memory::PhaseReading> endless = memory::ReadPhases(rank, options);
  const Bytes capacity = memory::AllocatorCapacity(memory::UsableOf(machine.gpu), fixed.outside);
  const bool caches_more = std::any_of(endless.begin(), endless.end(), [&](const auto& phase) {
    return phase.gpu.has_value() && phase.gpu->reserved_peak > capacity;
  });
  const bool uses_more = std::any_of(endless.begin(), endless.end(), [&](const auto& phase) {
    return !phase.gpu.has_value() || phase.gpu->allocated_peak > capacity;
  });
  if (!caches_more || uses_more) return {std::move(endless), !uses_more};
  options.allocator.capacity = capacity;
  std::vector<memory::PhaseReading> limited = memory::ReadPhases(rank, options);
  const bool fails = std::any_of(limited.begin(), limited.end(), [](const auto& phase) {
    return !phase.gpu.has_value() || phase.gpu->out_of_memory.has_value();
  });
  return {fails ? std::move(endless) : std::move(limited), !fails};
}

// Before any process, or a phase that takes nothing there.
bool IsOffTheGpu(const memory::PhaseReading& phase) {
  if (phase.phase == program::Phase::kDownload) return true;
  const memory::Levels& levels = phase.at(program::Place::kGpu).levels;
  return phase.phase == program::Phase::kSave && levels.peak == levels.start;
}

Fit Worst(Fit a, Fit b) {
  const auto rank = [](Fit fit) {
    constexpr std::array<int, 4> kRanks = {0, 2, 3, 1};  // fits < unknown < tight < does not fit
    return kRanks.at(static_cast<std::size_t>(fit));
  };
  return rank(a) >= rank(b) ? a : b;
}

// Of all places whose capacity is known; that of the GPU always is.
Fit WorstOf(const Answer& answer) {
  Fit worst = Fit::kFits;
  for (const PhaseAnswer& phase : answer.phases) {
    for (const RankAnswer& rank : phase.ranks) {
      for (const PlaceAnswer& place : rank.places) {
        const bool counts = place.place == program::Place::kGpu || place.capacity.has_value();
        if (counts) worst = Worst(worst, place.fit);
      }
    }
  }
  return worst;
}

void AddWarnings(const plan::Plan& plan, Answer& answer) {
  for (const Diagnostic& warning : plan.warnings) answer.warnings.push_back(warning.message);
}

}  // namespace

const PlaceAnswer& HighestGpu(const Answer& answer) {
  const PlaceAnswer* highest = nullptr;
  for (const PhaseAnswer& phase : answer.phases) {
    for (const RankAnswer& rank : phase.ranks) {
      for (const PlaceAnswer& place : rank.places) {
        if (place.place != program::Place::kGpu) continue;
        if (highest == nullptr || place.bytes.point > highest->bytes.point) highest = &place;
      }
    }
  }
  CHECK(highest != nullptr) << "an answer without a GPU";
  return *highest;
}

std::optional<double> ReservedRatio(const PlaceAnswer& gpu) {
  if (!gpu.readings.has_value() || gpu.readings->allocated.point == Bytes()) return std::nullopt;
  return static_cast<double>(gpu.readings->reserved.point.value()) /
         static_cast<double>(gpu.readings->allocated.point.value());
}

Expected<Answer> Judge(const Case& question) {
  ASSIGN_OR_RETURN(plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                      question.machine, question.facts));
  const program::Program program = frameworks::BuildProgram(plan);
  const Fixed fixed = FixedBytes(plan, question.machine);

  Answer answer;
  answer.machine = question.machine;
  std::vector<std::vector<memory::PhaseReading>> ranks;
  for (const program::RankProgram& rank : program.ranks) {
    const auto [readings, runs] = ReadOnCard(rank, fixed, question.machine);
    answer.phases.resize(std::max(answer.phases.size(), readings.size()));
    for (std::size_t i = 0; i < readings.size(); ++i) {
      answer.phases[i].phase = readings[i].phase;
      RankAnswer& of_rank = answer.phases[i].ranks.emplace_back();
      of_rank.role = rank.role;
      of_rank.count = rank.count;
      if (IsOffTheGpu(readings[i])) continue;
      of_rank.places.push_back(JudgeGpu(plan, question.machine, fixed, readings[i], runs));
    }
    ranks.push_back(readings);
  }
  AddNodePlaces(plan, question.machine, ranks, program.node, answer);
  answer.fit = WorstOf(answer);
  if (auto time = TimeStep(plan, program, question.machine); time.has_value()) {
    answer.time = *std::move(time);
  } else {
    answer.time_unknown = time.error().front().message;
  }
  answer.assumptions = plan.assumptions;
  for (const std::string& assumption : question.machine.assumptions) {
    answer.assumptions.push_back({"hardware", assumption, Basis::kAssumed, "nothing was said"});
  }
  AddWarnings(plan, answer);
  answer.plan = std::move(plan);
  return answer;
}

Expected<std::optional<memory::Shortage>> FindShortage(const Case& question) {
  ASSIGN_OR_RETURN(const plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                            question.machine, question.facts));
  const program::Program program = frameworks::BuildProgram(plan);
  const Fixed fixed = FixedBytes(plan, question.machine);
  memory::AllocatorSettings settings;
  settings.capacity =
      memory::AllocatorCapacity(memory::UsableOf(question.machine.gpu), fixed.outside);
  for (const program::RankProgram& rank : program.ranks) {
    const auto shortage = memory::FindShortage(rank, fixed.held, settings);
    if (shortage.has_value()) return shortage;
  }
  return std::nullopt;
}

Expected<QuickAnswer> JudgeQuickly(const Case& question, std::optional<double> reserved_ratio) {
  ASSIGN_OR_RETURN(const plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                            question.machine, question.facts));
  const program::Program program = frameworks::BuildProgram(plan);
  const Fixed fixed = FixedBytes(plan, question.machine);
  Bytes peak;
  for (const program::RankProgram& rank : program.ranks) {
    std::array<memory::PlaceLevels, kMaxPhases> levels;
    const std::size_t count = memory::SummarizePhases(rank, fixed.held, levels);
    for (std::size_t i = 0; i < count; ++i) {
      peak = std::max(peak, levels[i][static_cast<std::size_t>(program::Place::kGpu)].peak);
    }
  }
  memory::RangeInputs inputs = Inputs(plan, fixed);
  inputs.live_peak = peak;
  inputs.reserved_ratio = reserved_ratio;
  QuickAnswer answer;
  answer.gpu = NeededBytes(memory::MakeGpuRanges(inputs), fixed.outside, true);
  answer.capacity = GpuCapacity(question.machine);
  answer.fit = Compare(answer.gpu, answer.capacity);
  return answer;
}

}  // namespace trainfit::verdict
