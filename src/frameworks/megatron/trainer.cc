#include "frameworks/megatron/trainer.h"

#include <fmt/core.h>

#include "frameworks/megatron/stage.h"

namespace trainfit::frameworks::megatron {
namespace {

// Stages that run the same pieces: neighbours of equal size that are neither the first nor the
// last. The earliest of them holds the most micro-batches in flight and stands for all.
struct StageClass {
  std::int64_t stage = 0;
  std::int64_t alike = 1;
  std::string role;
};

std::vector<StageClass> ClassesOf(const plan::Parallel& parallel) {
  const auto stages = static_cast<std::int64_t>(parallel.stage_layers.size());
  if (stages == 1) return {{0, 1, "every rank"}};
  const auto size = [&](std::int64_t stage) {
    return parallel.stage_layers[static_cast<std::size_t>(stage)];
  };
  std::vector<StageClass> classes = {{0, 1, "first stage"}};
  for (std::int64_t stage = 1; stage + 1 < stages;) {
    std::int64_t alike = 1;
    while (stage + alike + 1 < stages && size(stage + alike) == size(stage)) ++alike;
    classes.push_back({stage, alike,
                       alike == 1 ? fmt::format("stage {}", stage + 1)
                                  : fmt::format("stages {}-{}", stage + 1, stage + alike)});
    stage += alike;
  }
  classes.push_back({stages - 1, 1, "last stage"});
  return classes;
}

}  // namespace

program::Program BuildTrainer(const plan::Plan& plan) {
  program::Program program;
  const plan::Parallel& parallel = plan.parallel;
  const std::int64_t ranks = parallel.data * parallel.context * parallel.tensor;
  for (const StageClass& stage : ClassesOf(parallel)) {
    program::RankProgram rank = BuildStage(plan, stage.stage, *program.store);
    rank.role = stage.role;
    rank.count = ranks * stage.alike;
    rank.pipeline->alike = stage.alike;
    program.ranks.push_back(std::move(rank));
  }
  return program;
}

}  // namespace trainfit::frameworks::megatron
