#include "report/deciding.h"

#include <gtest/gtest.h>

#include "report/sample_values_for_test.h"

namespace trainfit::report {
namespace {

TEST(DecidingPlace, AGpuSpeaksForAnAnswerThatFits) {
  const verdict::Answer answer = SampleFits();
  const DecidingPlace deciding = FindDecidingPlace(answer);
  EXPECT_EQ(deciding.phase->phase, program::Phase::kSteadyStep);
  EXPECT_EQ(deciding.place->place, program::Place::kGpu);
}

TEST(DecidingPlace, TheOneThatDoesNotFitSpeaks) {
  verdict::Answer answer = SampleFits();
  verdict::PlaceAnswer& host = answer.phases[0].ranks[0].places[1];
  host.fit = answer.fit = verdict::Fit::kDoesNotFit;
  EXPECT_EQ(FindDecidingPlace(answer).place, &host);
}

TEST(DecidingPlace, TheSteadyStepSpeaksForPhasesThatNeedAsMuch) {
  verdict::Answer answer = SampleFits();
  verdict::PlaceAnswer& load = answer.phases[0].ranks[0].places[0];
  const verdict::PlaceAnswer& steady = answer.phases[1].ranks[0].places[0];
  load.bytes = steady.bytes;
  EXPECT_EQ(FindDecidingPlace(answer).place, &steady);
  load.bytes.point += kGiB;
  EXPECT_EQ(FindDecidingPlace(answer).place, &load);
}

TEST(DecidingPlace, NothingDecidesAnEmptyAnswer) {
  verdict::Answer answer = SampleFits();
  answer.phases.clear();
  EXPECT_EQ(FindDecidingPlace(answer).place, nullptr);
}

}  // namespace
}  // namespace trainfit::report
