#include "verdict/step_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "time/pipeline_reading.h"
#include "time/reading.h"

namespace trainfit::verdict {
namespace {

constexpr std::array<std::string_view, time::kBoundCount> kBoundNames = {
    "tensor cores", "memory bandwidth", "kernel launches",
    "links",        "the host",         "other pipeline stages"};

template <std::size_t kCount, typename NameOf>
std::vector<StepTime::Share> Shares(const std::array<double, kCount>& seconds, NameOf name) {
  double sum = 0;
  for (const double each : seconds) sum += each;
  std::vector<StepTime::Share> shares;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (seconds[i] > 0) shares.push_back({std::string(name(i)), seconds[i] / sum});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return shares;
}

std::string BottleneckText(const std::vector<StepTime::Share>& bound_by) {
  if (bound_by.empty()) return "";
  std::string text =
      fmt::format("{:.0f} % of the step is bound by {}", 100 * bound_by[0].share, bound_by[0].name);
  if (bound_by.size() > 1) {
    text += fmt::format("; without that, {} would be next ({:.0f} %)", bound_by[1].name,
                        100 * bound_by[1].share);
  }
  return text;
}

const program::PhaseProgram* SteadyStep(const program::RankProgram& rank) {
  for (const program::PhaseProgram& phase : rank.phases) {
    if (phase.phase == program::Phase::kSteadyStep) return &phase;
  }
  return nullptr;
}

}  // namespace

Expected<StepTime> TimeStep(const plan::Plan& plan, const program::Program& program,
                            const spec::Machine& machine) {
  const spec::Gpu& gpu = machine.gpu;
  if (!gpu.memory_bandwidth.has_value() || !(gpu.bf16.has_value() || gpu.fp16.has_value())) {
    return Fail(
        Error("no-rates",
              "the catalogue has no tensor-core rates, or no memory bandwidth, of " + gpu.id));
  }
  if (plan.zero.offload_optimizer == spec::Offload::kNvme ||
      plan.zero.offload_param == spec::Offload::kNvme) {
    return Fail(
        Error("no-disk-speed", "states go to a disk, and how fast that is is not modelled"));
  }
  time::TimeReading slowest;
  double model_flops = 0;
  double hardware_flops = 0;
  for (const program::RankProgram& rank : program.ranks) {
    const program::PhaseProgram* step = SteadyStep(rank);
    if (step == nullptr) continue;
    ASSIGN_OR_RETURN(const time::TimeReading reading, time::ReadTime(*step, plan, machine));
    model_flops += reading.model_flops * static_cast<double>(rank.count);
    hardware_flops += reading.hardware_flops * static_cast<double>(rank.count);
    if (reading.point > slowest.point) slowest = reading;
  }
  if (time::IsPipeline(program)) {
    ASSIGN_OR_RETURN(slowest, time::ReadPipeline(program, plan, machine));
  }
  if (slowest.point <= Seconds()) return Fail(Error("no-step", "the program has no steady step"));

  StepTime answer;
  answer.point = slowest.point;
  answer.low = slowest.low;
  answer.high = slowest.high;
  const auto tokens = static_cast<double>(plan.TokensPerMicroBatch() * plan.gradient_accumulation *
                                          plan.parallel.data);
  answer.tokens_per_second = tokens / slowest.point.value();
  const double peak = time::MakeCard(gpu).Peak(plan.compute_dtype) *
                      static_cast<double>(machine.Gpus()) * slowest.point.value();
  answer.mfu = model_flops / peak;
  answer.hfu = hardware_flops / peak;
  answer.bound_by = Shares(slowest.path.by_bound, [](std::size_t i) { return kBoundNames[i]; });
  answer.by_class = Shares(slowest.path.by_class, [](std::size_t i) -> std::string_view {
    return i == time::kHostClass ? "issuing kernels"
                                 : program::Name(static_cast<program::KernelClass>(i));
  });
  answer.bottleneck = BottleneckText(answer.bound_by);
  return answer;
}

}  // namespace trainfit::verdict
