#include "time/reading.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "time/exchange.h"

namespace trainfit::time {
namespace {

using program::KernelClass;
using program::Operation;
using program::Segment;

// What the host spends on issuing one kernel. Forward passes run Python modules between kernels:
// eager Llama-7B decodes a token in 25 to 30 ms with some 1,600 of them, and recording for autograd
// adds to that. Autograd's engine calls them from C++, in about half the time. Functions in Python
// check and save their arguments, fork random states, and enter the interpreter from the engine:
// Megatron's layers of GPT, fully recomputed, take a host 3.5 ms for some 66 kernels, at any size.
Seconds IssueSeconds(const Operation& operation) {
  constexpr Seconds kPython{20e-6};
  constexpr Seconds kEngine{10e-6};
  constexpr Seconds kFunctions{52e-6};
  const auto kernels = static_cast<double>(operation.kernels);
  switch (operation.issuer) {
    case program::Issuer::kPython:
      return kPython * kernels;
    case program::Issuer::kEngine:
      return kEngine * kernels;
    case program::Issuer::kFunctions:
      return kFunctions * kernels;
  }
  return kPython * kernels;
}

// A fused attention's backward computes the scores again: 5 products where the model has 4.
double ModelFlops(const Operation& operation) {
  constexpr double kWithoutScores = 4.0 / 5;
  return operation.kernel == KernelClass::kAttentionBackward
             ? kWithoutScores * operation.flops.value()
             : operation.flops.value();
}

// Whether anything is exchanged while the compute stream goes on.
bool ExchangesBeside(const Timeline& timeline) {
  constexpr auto kCollective = static_cast<std::size_t>(KernelClass::kCollective);
  const auto on = [&](program::Stream stream) {
    return timeline.work[static_cast<std::size_t>(stream)].by_class[kCollective] > 0;
  };
  return on(program::Stream::kAllGather) || on(program::Stream::kReduceScatter);
}

// What is lost where kernels and exchanges slow each other down goes to the links.
void AddContention(const Segment& segment, const Reader& reader, TimeReading* reading) {
  const StreamsRun run = RunStreams(
      segment, [&](const Operation& operation) { return reader.TaskOf(operation); }, Contention());
  if (run.total <= reading->point) return;
  reading->path.Add(static_cast<int>(KernelClass::kCollective), Bound::kLink,
                    (run.total - reading->point).value());
  reading->point = run.total;
}

}  // namespace

Reader::Reader(const spec::Gpu& gpu, const LinkPaths& paths)
    : card_id_(gpu.id), paths_(paths), card_(MakeCard(gpu)) {}

KernelTime Reader::TimeOf(const Operation& operation) const {
  if (operation.kernel != KernelClass::kCollective) return KernelSeconds(operation, card_);
  const LinkPath& path = paths_[static_cast<std::size_t>(operation.group)];
  return {ExchangeSeconds(operation.collective, operation.moved, path, card_id_).point,
          Bound::kLink};
}

Task Reader::TaskOf(const Operation& operation) const {
  Task task{TimeOf(operation).seconds, IssueSeconds(operation), Medium::kProcessors};
  if (operation.kernel == KernelClass::kCollective) {
    const LinkPath& path = paths_[static_cast<std::size_t>(operation.group)];
    task.medium = path.between != nullptr ? Medium::kNetwork : Medium::kIsland;
  } else if (operation.stream == program::Stream::kCopy) {
    task.medium = Medium::kHostLink;
  }
  return task;
}

Timeline Reader::ReadLeaf(const Segment& leaf) const {
  Timeline timeline = Timeline::Identity();
  for (const Operation& operation : leaf.operations()) {
    const int lane = static_cast<int>(operation.stream);
    if (operation.kernel == KernelClass::kWait) {
      timeline.Wait(lane, static_cast<int>(operation.awaited));
    } else if (operation.kernel == KernelClass::kHostSync) {
      timeline.Wait(kHostLane, lane);
    } else {
      timeline.Run(operation.stream, static_cast<int>(operation.kernel), TimeOf(operation),
                   IssueSeconds(operation));
      timeline.hardware_flops += operation.flops.value();
      if (!operation.recomputed) timeline.model_flops += ModelFlops(operation);
    }
  }
  return timeline;
}

const Timeline& Reader::Read(const Segment& segment) {
  if (const auto found = known_.find(&segment); found != known_.end()) return found->second;
  Timeline timeline = Timeline::Identity();
  switch (segment.kind()) {
    case Segment::Kind::kLeaf:
      timeline = ReadLeaf(segment);
      break;
    case Segment::Kind::kSequence:
      for (const program::Child& child : segment.children()) {
        timeline = Then(timeline, Read(*child.segment));
      }
      break;
    case Segment::Kind::kRepeat:
      timeline = Times(Read(*segment.children().front().segment), segment.count());
      break;
  }
  return known_.emplace(&segment, timeline).first->second;
}

const Path& Longest(const Timeline& timeline) {
  const Path* longest = &timeline.paths[0][0];
  for (const auto& row : timeline.paths) {
    for (const Path& path : row) {
      if (path.seconds > longest->seconds) longest = &path;
    }
  }
  return *longest;
}

void GoAtTheSlowestPace(std::int64_t ranks, TimeReading* reading) {
  // At one power limit chips differ by some 5 % either way on a single node of eight, and by 8 %
  // between the ends of a cluster on average (P. Sinha et al., Not All GPUs Are Created Equal,
  // SC 22): a standard deviation of 3 %.
  constexpr double kDeviation = 0.03;
  // The largest of 1, 2, 4, … normal numbers, expected, in standard deviations.
  constexpr std::array kLargest = {0.0,  0.56, 1.03, 1.42, 1.77, 2.07, 2.34,
                                   2.59, 2.82, 3.04, 3.24, 3.44, 3.63};
  const double doublings =
      std::min(std::log2(static_cast<double>(std::max<std::int64_t>(ranks, 1))),
               static_cast<double>(kLargest.size() - 1));
  const auto below = static_cast<std::size_t>(doublings);
  const std::size_t above = std::min(below + 1, kLargest.size() - 1);
  const double largest = kLargest[below] + (doublings - static_cast<double>(below)) *
                                               (kLargest[above] - kLargest[below]);
  const double longer = kDeviation * largest;
  for (const Bound bound : {Bound::kCompute, Bound::kBandwidth}) {
    double& seconds = reading->path.by_bound[static_cast<std::size_t>(bound)];
    reading->point += Seconds(seconds * longer);
    seconds *= 1 + longer;
  }
}

void SetRange(const Reader& reader, TimeReading* reading) {
  // 90 % of a normal distribution lie within 1.645 standard deviations.
  constexpr double kNinetyPercent = 1.645;
  // Kernels come nearer to their benchmarks than `sigma`, which is for any shape: a step has many.
  // Nothing makes a step much faster than its kernels; much makes it slower: older libraries, lower
  // clocks in long runs, data that comes late, a host that is busy otherwise.
  constexpr double kOfMany = 2.0 / 3;
  constexpr double kBesideKernels = 0.2;
  const double sigma = reader.card().rates.sigma;
  const double faster = std::exp(kNinetyPercent * kOfMany * sigma);
  const double slower = std::exp(kNinetyPercent * std::hypot(sigma, kBesideKernels));
  const Seconds links(reading->path.by_bound[static_cast<std::size_t>(Bound::kLink)]);
  const Seconds rest = reading->point - links;
  const Spread spread = reader.LinkSpread();
  reading->low = rest / faster + links * spread.low;
  reading->high = rest * slower + links * spread.high;
}

Expected<TimeReading> ReadTime(const program::PhaseProgram& phase, const plan::Plan& plan,
                               const spec::Machine& machine) {
  ASSIGN_OR_RETURN(const LinkPaths paths, PathsOf(machine, plan.parallel));
  Reader reader(machine.gpu, paths);
  const Timeline& timeline = reader.Read(*phase.segment);
  TimeReading reading;
  const Path& longest = Longest(timeline);
  reading.point = Seconds(longest.seconds);
  reading.path = longest.spent;
  reading.work = timeline.work;
  reading.model_flops = timeline.model_flops;
  reading.hardware_flops = timeline.hardware_flops;
  if (ExchangesBeside(timeline)) AddContention(*phase.segment, reader, &reading);
  GoAtTheSlowestPace(machine.Gpus(), &reading);
  SetRange(reader, &reading);
  return reading;
}

}  // namespace trainfit::time
