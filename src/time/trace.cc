#include "time/trace.h"

#include <array>
#include <utility>

#include "time/pipeline_reading.h"
#include "time/reading.h"
#include "time/streams.h"

namespace trainfit::time {
namespace {

constexpr std::array<std::string_view, program::kStreamCount> kStreamNames = {
    "compute", "all-gather", "reduce-scatter", "copies"};

TraceProcess OfRank(const program::RankProgram& rank, const program::Segment& step,
                    const Reader& reader) {
  TraceProcess process;
  process.name = rank.role;
  for (const std::string_view name : kStreamNames) process.tracks.emplace_back(name);
  RunStreams(
      step, [&](const program::Operation& operation) { return reader.TaskOf(operation); },
      Contention(),
      [&](const Span& span) {
        const program::Operation& operation = *span.operation;
        const std::string_view kernel = Name(operation.kernel);
        TraceSpan& added = process.spans.emplace_back();
        added.name = *operation.label != '\0' ? operation.label : std::string(kernel);
        added.category = kernel;
        added.track = static_cast<std::int64_t>(operation.stream);
        added.begin = span.begin;
        added.end = span.end;
      });
  return process;
}

TraceProcess OfPipeline(const std::vector<PassSpan>& passes) {
  TraceProcess process;
  process.name = "stages";
  for (const PassSpan& pass : passes) {
    while (std::cmp_less_equal(process.tracks.size(), pass.stage)) {
      process.tracks.push_back("stage " + std::to_string(process.tracks.size() + 1));
    }
    TraceSpan& added = process.spans.emplace_back();
    added.category = pass.pass.is_forward ? "forward" : "backward";
    added.name = added.category + " " + std::to_string(pass.micro_batch + 1);
    added.track = pass.stage;
    added.begin = pass.begin;
    added.end = pass.end;
  }
  return process;
}

}  // namespace

Expected<std::vector<TraceProcess>> TraceStep(const program::Program& program,
                                              const plan::Plan& plan,
                                              const spec::Machine& machine) {
  std::vector<TraceProcess> processes;
  if (IsPipeline(program)) {
    ASSIGN_OR_RETURN(const std::vector<PassSpan> passes, PassesOf(program, plan, machine));
    processes.push_back(OfPipeline(passes));
    return processes;
  }
  ASSIGN_OR_RETURN(const LinkPaths paths, PathsOf(machine, plan.parallel));
  const Reader reader(machine.gpu, paths);
  for (const program::RankProgram& rank : program.ranks) {
    for (const program::PhaseProgram& phase : rank.phases) {
      if (phase.phase != program::Phase::kSteadyStep) continue;
      processes.push_back(OfRank(rank, *phase.segment, reader));
    }
  }
  return processes;
}

}  // namespace trainfit::time
