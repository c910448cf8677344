// Cost of one plan in process, against the budget of 50 µs for everything cold. The program is
// built anew each time; summaries that are shared between plans do not exist yet.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "catalog/catalog.h"
#include "catalog/hardware.h"
#include "frameworks/builder.h"
#include "frameworks/registry.h"
#include "memory/peak.h"
#include "readers/model_config.h"
#include "time/reading.h"
#include "verdict/judge.h"

namespace trainfit {
namespace {

verdict::Case Question(spec::Method method) {
  const catalog::Catalog catalog;
  verdict::Case question;
  const auto found = catalog.FindModel("meta-llama/Llama-3.1-70B");
  question.model = std::make_shared<const spec::ModelSpec>(
      readers::ReadModelConfig(found->record.config, found->record.id, nullptr).value());
  question.facts = frameworks::FindFacts("", "").value();
  question.machine = catalog::ParseHardware(catalog, "8xh100-sxm").value();
  question.recipe.method = method;
  return question;
}

void ResolvePlan(benchmark::State& state) {
  const verdict::Case question = Question(spec::Method::kLora);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        plan::ResolvePlan(question.recipe, question.model, question.machine, question.facts));
  }
}
BENCHMARK(ResolvePlan)->Unit(benchmark::kMicrosecond);

void BuildProgram(benchmark::State& state) {
  const verdict::Case question = Question(static_cast<spec::Method>(state.range(0)));
  const plan::Plan plan =
      plan::ResolvePlan(question.recipe, question.model, question.machine, question.facts).value();
  for (auto _ : state) benchmark::DoNotOptimize(frameworks::BuildProgram(plan));
}
BENCHMARK(BuildProgram)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

void SummarizePhases(benchmark::State& state) {
  const verdict::Case question = Question(spec::Method::kFull);
  const plan::Plan plan =
      plan::ResolvePlan(question.recipe, question.model, question.machine, question.facts).value();
  const program::Program program = frameworks::BuildProgram(plan);
  std::array<memory::PlaceLevels, 16> levels;
  for (auto _ : state) {
    benchmark::DoNotOptimize(memory::SummarizePhases(program.ranks.front(), {}, levels));
  }
}
BENCHMARK(SummarizePhases)->Unit(benchmark::kMicrosecond);

const program::Segment& SteadyStep(const program::Program& program) {
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    if (phase.phase == program::Phase::kSteadyStep) return *phase.segment;
  }
  return *program.ranks.front().phases.back().segment;
}

// The time reading of a step whose segments were read before, and of one that is new.
void ReadTimeWarm(benchmark::State& state) {
  const verdict::Case question = Question(spec::Method::kFull);
  const plan::Plan plan =
      plan::ResolvePlan(question.recipe, question.model, question.machine, question.facts).value();
  const program::Program program = frameworks::BuildProgram(plan);
  const time::LinkPaths paths = time::PathsOf(question.machine, plan.parallel).value();
  time::Reader reader(question.machine.gpu, paths);
  for (auto _ : state) benchmark::DoNotOptimize(&reader.Read(SteadyStep(program)));
}
BENCHMARK(ReadTimeWarm)->Unit(benchmark::kMicrosecond);

void ReadTimeCold(benchmark::State& state) {
  const verdict::Case question = Question(spec::Method::kFull);
  const plan::Plan plan =
      plan::ResolvePlan(question.recipe, question.model, question.machine, question.facts).value();
  const program::Program program = frameworks::BuildProgram(plan);
  const time::LinkPaths paths = time::PathsOf(question.machine, plan.parallel).value();
  for (auto _ : state) {
    time::Reader reader(question.machine.gpu, paths);
    benchmark::DoNotOptimize(&reader.Read(SteadyStep(program)));
  }
}
BENCHMARK(ReadTimeCold)->Unit(benchmark::kMicrosecond);

// The budget: one plan, everything cold, 50 µs.
void OnePlanCold(benchmark::State& state) {
  const verdict::Case question = Question(static_cast<spec::Method>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(verdict::JudgeQuickly(question));
}
BENCHMARK(OnePlanCold)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

// Names, parts and the allocator replayed over all phases: what `fit` shows.
void OneAnswer(benchmark::State& state) {
  const verdict::Case question = Question(spec::Method::kFull);
  for (auto _ : state) benchmark::DoNotOptimize(verdict::Judge(question));
}
BENCHMARK(OneAnswer)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainfit
