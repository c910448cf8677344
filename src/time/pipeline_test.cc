#include "time/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace trainfit::time {
namespace {

constexpr double kForward = 2;
constexpr double kBackward = 4;

plan::Parallel Pipeline(std::int64_t stages, std::int64_t chunks = 1) {
  plan::Parallel parallel;
  parallel.pipeline = stages;
  parallel.virtual_stages = chunks;
  return parallel;
}

std::vector<StageTimes> Equal(std::int64_t stages, std::int64_t chunks = 1) {
  StageTimes times;
  times.forward.assign(static_cast<std::size_t>(chunks),
                       Seconds(kForward / static_cast<double>(chunks)));
  times.backward.assign(static_cast<std::size_t>(chunks),
                        Seconds(kBackward / static_cast<double>(chunks)));
  return {static_cast<std::size_t>(stages), times};
}

PipelineRun RunSteps(const std::vector<StageTimes>& stages, const plan::Parallel& parallel,
                     std::int64_t micro_batches) {
  std::vector<program::StageOrder> orders;
  for (std::int64_t stage = 0; stage < parallel.pipeline; ++stage) {
    orders.push_back(program::OrderOf(parallel, stage, micro_batches));
  }
  return RunPipeline(stages, orders);
}

double Total(std::int64_t stages, std::int64_t micro_batches, const plan::Parallel& parallel) {
  return RunSteps(Equal(stages, parallel.virtual_stages), parallel, micro_batches).total.value();
}

TEST(PipelineTest, EqualStagesHaveTheBubbleOfTheClosedForm) {
  for (const std::int64_t stages : {1, 2, 4, 8}) {
    for (const std::int64_t micro_batches : {1, 2, 8, 33}) {
      plan::Parallel parallel = Pipeline(stages);
      const double expected =
          static_cast<double>(micro_batches + stages - 1) * (kForward + kBackward);
      EXPECT_NEAR(Total(stages, micro_batches, parallel), expected, 1e-9);
      parallel.order = spec::PipelineOrder::kAllForwardFirst;
      EXPECT_NEAR(Total(stages, micro_batches, parallel), expected, 1e-9);
    }
  }
}

TEST(PipelineTest, VirtualStagesDivideTheBubble) {
  for (const std::int64_t stages : {2, 4, 8}) {
    for (const std::int64_t chunks : {2, 4}) {
      const std::int64_t micro_batches = 4 * stages;
      const double work = static_cast<double>(micro_batches) * (kForward + kBackward);
      const double bubble =
          static_cast<double>(stages - 1) * (kForward + kBackward) / static_cast<double>(chunks);
      EXPECT_NEAR(Total(stages, micro_batches, Pipeline(stages, chunks)), work + bubble, 1e-9)
          << stages << " stages of " << chunks;
    }
  }
}

TEST(PipelineTest, TheSlowestStageSetsThePace) {
  std::vector<StageTimes> stages = Equal(4);
  stages[2].forward[0] = Seconds(3);
  stages[2].backward[0] = Seconds(6);
  const std::int64_t micro_batches = 100;
  const PipelineRun run = RunSteps(stages, Pipeline(4), micro_batches);
  EXPECT_EQ(run.busiest, 2);
  EXPECT_NEAR(run.busy.value(), 900, 1e-9);
  EXPECT_GT(run.total.value(), 900);
  EXPECT_LT(run.total.value(), 900 + 3 * 6 + 1e-9);
}

TEST(PipelineTest, TheUpdateComesLast) {
  std::vector<StageTimes> stages = Equal(2);
  const double without = RunSteps(stages, Pipeline(2), 4).total.value();
  for (StageTimes& stage : stages) stage.update = Seconds(1.5);
  EXPECT_NEAR(RunSteps(stages, Pipeline(2), 4).total.value(), without + 1.5, 1e-9);
}

TEST(PipelineTest, NoScheduleBeatsTheBusiestStageOrOneMicroBatchesWay) {
  std::vector<StageTimes> stages = Equal(4, 2);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].forward[0] = Seconds(1 + 0.3 * static_cast<double>(i));
    stages[i].backward[1] = Seconds(3 - 0.4 * static_cast<double>(i));
  }
  double way = 0;
  for (const StageTimes& stage : stages) {
    for (std::size_t chunk = 0; chunk < 2; ++chunk) {
      way += stage.forward[chunk].value() + stage.backward[chunk].value();
    }
  }
  const PipelineRun run = RunSteps(stages, Pipeline(4, 2), 16);
  EXPECT_GE(run.total.value(), way);
  EXPECT_GE(run.total, run.busy);
}

TEST(PipelineTest, PassesOfAStageFollowOneAnother) {
  const plan::Parallel parallel = Pipeline(4);
  std::vector<program::StageOrder> orders;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    orders.push_back(program::OrderOf(parallel, stage, 8));
  }
  std::vector<double> ends(4, 0);
  std::size_t passes = 0;
  const PipelineRun run = RunPipeline(Equal(4), orders, [&](const PassSpan& span) {
    double& end = ends[static_cast<std::size_t>(span.stage)];
    EXPECT_GE(span.begin.value(), end);
    end = span.end.value();
    ++passes;
  });
  EXPECT_EQ(passes, 4U * 2 * 8);
  EXPECT_EQ(*std::max_element(ends.begin(), ends.end()), run.total.value());
}

}  // namespace
}  // namespace trainfit::time
