// The event simulation, against its budget: 10 ms for the step of a rank that trains 1T parameters
// on 512 GPUs.
#include "time/streams.h"

#include <benchmark/benchmark.h>

#include <memory>

#include "catalog/catalog.h"
#include "catalog/hardware.h"
#include "config/json_reader.h"
#include "frameworks/builder.h"
#include "frameworks/registry.h"
#include "readers/model_config.h"
#include "time/pipeline_reading.h"
#include "time/reading.h"

namespace trainfit {
namespace {

struct Job {
  spec::Machine machine;
  plan::Plan plan;
  program::Program program;
};

// 128 layers of width 25600 (1T parameters) over tensor 8 and pipeline 64, 64 micro-batches a step.
Job Trillion() {
  constexpr const char* kConfig = R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 25600,
    "intermediate_size": 68096, "num_hidden_layers": 128, "num_attention_heads": 160,
    "num_key_value_heads": 160, "vocab_size": 51200, "max_position_embeddings": 2048,
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": false})";
  const config::Node node = config::ParseJson("1T", kConfig).value();
  Job job;
  job.machine = catalog::ParseHardware(catalog::Catalog(), "64xdgx-a100-640").value();
  const auto model = std::make_shared<const spec::ModelSpec>(
      readers::ReadModelConfig(node, "1T", nullptr).value());
  spec::Recipe recipe;
  recipe.parallelism = spec::Parallelism{.tensor = 8, .pipeline = 64};
  recipe.micro_batch = 1;
  recipe.gradient_accumulation = 64;
  recipe.sequence_length = 2048;
  const auto facts = frameworks::FindFacts("megatron", "").value();
  job.plan = plan::ResolvePlan(recipe, model, job.machine, facts).value();
  job.program = frameworks::BuildProgram(job.plan);
  return job;
}

const program::Segment& SteadyStep(const Job& job) {
  for (const program::PhaseProgram& phase : job.program.ranks.front().phases) {
    if (phase.phase == program::Phase::kSteadyStep) return *phase.segment;
  }
  return *job.program.ranks.front().phases.back().segment;
}

void WalkStreams(benchmark::State& state) {
  const Job job = Trillion();
  const auto paths = time::PathsOf(job.machine, job.plan.parallel).value();
  const time::Reader reader(job.machine.gpu, paths);
  const program::Segment& step = SteadyStep(job);
  for (auto _ : state) {
    benchmark::DoNotOptimize(time::RunStreams(
        step, [&](const program::Operation& operation) { return reader.TaskOf(operation); },
        time::Contention()));
  }
}
BENCHMARK(WalkStreams)->Unit(benchmark::kMillisecond);

void ArrangePipeline(benchmark::State& state) {
  const Job job = Trillion();
  for (auto _ : state) {
    benchmark::DoNotOptimize(time::ReadPipeline(job.program, job.plan, job.machine));
  }
}
BENCHMARK(ArrangePipeline)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainfit
