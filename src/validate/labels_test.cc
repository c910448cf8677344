#include "validate/labels.h"

#include <gtest/gtest.h>

namespace trainfit::validate {
namespace {

Row RowOf(std::vector<Label> labels, std::vector<PlaceVerdict> verdicts) {
  Row row;
  row.record.labels = std::move(labels);
  row.prediction.verdicts = std::move(verdicts);
  return row;
}

PlaceVerdict Needs(const char* where, bool point_fits) {
  return {where, point_fits ? verdict::Fit::kFits : verdict::Fit::kDoesNotFit, point_fits};
}

TEST(Reports, AFailureInAStepIsCalledByTheGpuOfAStep) {
  const ReportScore score =
      ScoreReports({RowOf({{"train", true}}, {Needs("steady_step/gpu", false)}),
                    RowOf({{"train", true}}, {Needs("steady_step/host", false)})});
  EXPECT_EQ(score.step_failures, 2);
  EXPECT_EQ(score.step_called, 1);
}

TEST(Reports, ARunThatTrainedAndWasCalledIsAFalseAlarm) {
  const ReportScore score =
      ScoreReports({RowOf({{"train", false}, {"host_save", true}},
                          {Needs("steady_step/gpu", false), Needs("save/host", false)}),
                    RowOf({{"train", false}}, {Needs("steady_step/gpu", true)})});
  EXPECT_EQ(score.step_ran, 2);
  EXPECT_EQ(score.false_alarms, 1);
  EXPECT_EQ(score.other_failures, 1);
  EXPECT_EQ(score.other_named, 1);
}

TEST(Reports, WhatIsNoMatterOfMemoryIsNotScored) {
  const ReportScore score = ScoreReports({RowOf({{"preprocess_timeout", true}}, {})});
  EXPECT_EQ(score.other_failures, 0);
}

TEST(Reports, ARefusedRowCountsAgainst) {
  Row row = RowOf({{"load", true}}, {});
  row.prediction.refused = "method not stated";
  const ReportScore score = ScoreReports({row});
  EXPECT_EQ(score.other_failures, 1);
  EXPECT_EQ(score.other_named, 0);
  EXPECT_EQ(score.refused, 1);
}

TEST(Reports, WhatIsLeftOutIsTakenAtItsLeast) {
  validate::Run run;
  run.method = "qlora";
  run.checkpointing = "full (unsloth gc)";
  FillReport(run);
  EXPECT_EQ(run.micro_batch, 1);
  EXPECT_EQ(run.length, 512);
  EXPECT_EQ(run.checkpointing, "full");
  EXPECT_EQ(run.precision, "");  // what the card can
  EXPECT_EQ(run.quantization, "nf4");
  EXPECT_EQ(run.lora->rank, 8);
  EXPECT_EQ(run.lora->targets, std::vector<std::string>{"all-linear"});
}

}  // namespace
}  // namespace trainfit::validate
