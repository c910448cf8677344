#include "time/pipeline_reading.h"

#include <cstddef>
#include <vector>

#include "program/schedule.h"
#include "time/pipeline.h"

namespace trainfit::time {
namespace {

Seconds Length(const Path& path) { return Seconds(path.seconds); }

void AddTimes(const Spent& once, std::int64_t count, Spent* sum) {
  const auto times = static_cast<double>(count);
  for (std::size_t i = 0; i < sum->by_class.size(); ++i) {
    sum->by_class[i] += times * once.by_class[i];
  }
  for (std::size_t i = 0; i < sum->by_bound.size(); ++i) {
    sum->by_bound[i] += times * once.by_bound[i];
  }
}

// What the busiest stage does in a step, and that it waits for the rest.
Spent PathOf(const program::Pipeline& pipeline, Reader& reader, Seconds idle) {
  Spent path;
  for (const program::MicroStep& chunk : pipeline.chunks) {
    for (const program::Segment* piece : {chunk.forward, chunk.backward}) {
      AddTimes(Longest(reader.Read(*piece)).spent, pipeline.micro_batches, &path);
    }
  }
  AddTimes(Longest(reader.Read(*pipeline.update)).spent, 1, &path);
  path.Add(static_cast<int>(program::KernelClass::kWait), Bound::kStages, idle.value());
  return path;
}

}  // namespace

bool IsPipeline(const program::Program& program) {
  return !program.ranks.empty() && program.ranks.front().pipeline.has_value() &&
         program.ranks.front().pipeline->stages > 1;
}

namespace {

struct Stages {
  std::vector<StageTimes> times;
  std::vector<program::StageOrder> orders;
  std::vector<const program::Pipeline*> pipelines;
};

Stages StagesOf(const program::Program& program, const plan::Plan& plan, Reader& reader) {
  Stages stages;
  for (const program::RankProgram& rank : program.ranks) {
    const program::Pipeline& pipeline = *rank.pipeline;
    StageTimes times;
    for (const program::MicroStep& chunk : pipeline.chunks) {
      times.forward.push_back(Length(Longest(reader.Read(*chunk.forward))));
      times.backward.push_back(Length(Longest(reader.Read(*chunk.backward))));
    }
    times.update = Length(Longest(reader.Read(*pipeline.update)));
    for (std::int64_t alike = 0; alike < pipeline.alike; ++alike) {
      stages.orders.push_back(
          program::OrderOf(plan.parallel, pipeline.stage + alike, pipeline.micro_batches));
      stages.times.push_back(times);
      stages.pipelines.push_back(&pipeline);
    }
  }
  return stages;
}

}  // namespace

Expected<std::vector<PassSpan>> PassesOf(const program::Program& program, const plan::Plan& plan,
                                         const spec::Machine& machine) {
  ASSIGN_OR_RETURN(const LinkPaths paths, PathsOf(machine, plan.parallel));
  Reader reader(machine.gpu, paths);
  const Stages stages = StagesOf(program, plan, reader);
  std::vector<PassSpan> passes;
  RunPipeline(stages.times, stages.orders, [&](const PassSpan& pass) { passes.push_back(pass); });
  return passes;
}

Expected<TimeReading> ReadPipeline(const program::Program& program, const plan::Plan& plan,
                                   const spec::Machine& machine) {
  ASSIGN_OR_RETURN(const LinkPaths paths, PathsOf(machine, plan.parallel));
  Reader reader(machine.gpu, paths);
  const Stages stages = StagesOf(program, plan, reader);
  const PipelineRun run = RunPipeline(stages.times, stages.orders);
  TimeReading reading;
  reading.point = run.total;
  reading.path = PathOf(*stages.pipelines[static_cast<std::size_t>(run.busiest)], reader, run.idle);
  GoAtTheSlowestPace(machine.Gpus(), &reading);
  SetRange(reader, &reading);
  return reading;
}

}  // namespace trainfit::time
