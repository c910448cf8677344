#include "memory/peak.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::EventKind;
using program::Operation;
using program::Phase;
using program::Place;
using program::RankProgram;
using program::Role;
using program::Segment;
using program::SegmentStore;
using program::Slot;
using program::Stream;

Event Alloc(Slot slot, std::int64_t bytes, Role role, const char* label,
            Place place = Place::kGpu) {
  return {EventKind::kAlloc, place, role, Stream::kCompute, slot, {}, Bytes(bytes), label};
}
Event Free(Slot slot, std::int64_t bytes, const char* label, Place place = Place::kGpu) {
  return {EventKind::kFree, place, Role::kTemporary, Stream::kCompute, slot, {},
          Bytes(bytes),     label};
}
Event Move(Slot slot, Slot to, std::int64_t bytes, Role role, const char* label) {
  return {EventKind::kMove, Place::kGpu, role, Stream::kCompute, slot, to, Bytes(bytes), label};
}
Event RunOf(std::int32_t operation) {
  Event event;
  event.slot.index = operation;
  return event;
}
Operation Named(const char* label) {
  Operation operation;
  operation.label = label;
  return operation;
}

constexpr std::int32_t kWeight = program::kWeightSlots;

// Three layers of 1 MiB weights; forward saves 2 MiB a layer over a temporary of 3 MiB, backward
// frees them; a copy of the weights lies pinned on the host.
class SmallModel : public testing::Test {
 protected:
  SmallModel() {
    const Segment* load = store_.Leaf({Alloc({0, kWeight}, kMiB_, Role::kWeights, "weight")}, {});
    const Segment* forward =
        store_.Leaf({Alloc({0, 0}, 3 * kMiB_, Role::kTemporary, "scores"), RunOf(0),
                     Alloc({0, 1}, 2 * kMiB_, Role::kActivations, "silu"), RunOf(1),
                     Free({0, 0}, 3 * kMiB_, "scores")},
                    {Named("softmax"), Named("silu forward")});
    const Segment* backward =
        store_.Leaf({RunOf(0), Free({0, 1}, 2 * kMiB_, "silu")}, {Named("silu backward")});
    const Segment* offload = store_.Leaf({Alloc({program::kSharedFrame, 7}, 3'000'000,
                                                Role::kOptimizerState, "copy", Place::kPinned)},
                                         {});
    rank_.phases = {
        {Phase::kLoad, store_.Repeat({load, 0}, 3, 1)},
        {Phase::kInit, offload},
        {Phase::kSteadyStep, store_.Sequence({{store_.Repeat({forward, 0}, 3, 1), 0},
                                              {store_.Repeat({backward, 2}, 3, -1), 0}})},
        {Phase::kSave, store_.Empty()}};
  }

  static constexpr std::int64_t kMiB_ = 1 << 20;
  SegmentStore store_;
  RankProgram rank_;
};

TEST_F(SmallModel, PhasesStartFromWhatWasLeftBehind) {
  std::array<PlaceLevels, 4> levels;
  ASSERT_EQ(SummarizePhases(rank_, {}, levels), 4u);
  constexpr auto kGpu = static_cast<std::size_t>(Place::kGpu);
  EXPECT_EQ(levels[0][kGpu], (Levels{Bytes(), 3 * kMiB, 3 * kMiB}));
  EXPECT_EQ(levels[1][kGpu], (Levels{3 * kMiB, 3 * kMiB, 3 * kMiB}));
  EXPECT_EQ(levels[2][kGpu], (Levels{3 * kMiB, 12 * kMiB, 3 * kMiB}));
  EXPECT_EQ(levels[3][kGpu], (Levels{3 * kMiB, 3 * kMiB, 3 * kMiB}));
}

TEST_F(SmallModel, PinnedBytesAreHostBytesAsWell) {
  const std::vector<PhaseReading> readings = ReadPhases(rank_);
  EXPECT_EQ(readings[1].at(Place::kPinned).levels.peak, Bytes(3'000'000));
  EXPECT_EQ(readings[1].at(Place::kHost).levels.peak, Bytes(3'000'000));
  EXPECT_EQ(readings[1].pinned_reserved_peak, Bytes(4'194'304));
  const Part copy{Role::kOptimizerState, "copy", Bytes(3'000'000), 1};
  EXPECT_EQ(readings[1].at(Place::kHost).parts, std::vector{copy});
  EXPECT_EQ(readings[1].at(Place::kPinned).parts, std::vector{copy});
}

TEST_F(SmallModel, PeakHasPartsAndAMoment) {
  const PhaseReading step = ReadPhases(rank_)[2];
  const PlaceReading& gpu = step.at(Place::kGpu);
  EXPECT_EQ(gpu.parts, (std::vector<Part>{{Role::kActivations, "silu", 6 * kMiB, 3},
                                          {Role::kWeights, "weight", 3 * kMiB, 3},
                                          {Role::kTemporary, "scores", 3 * kMiB, 1}}));
  EXPECT_EQ(gpu.moment.operation, "silu forward");
  EXPECT_EQ(gpu.moment.tensor, "silu");
  EXPECT_EQ(gpu.moment.frame, 2);
  EXPECT_EQ(gpu.moment.event, 12);
}

TEST_F(SmallModel, APhaseThatNeverRisesPeaksAtItsStart) {
  const PhaseReading save = ReadPhases(rank_)[3];
  EXPECT_EQ(save.at(Place::kGpu).moment.event, -1);
  EXPECT_EQ(save.at(Place::kGpu).parts.size(), 1u);
  EXPECT_TRUE(save.at(Place::kDisk).parts.empty());
}

TEST_F(SmallModel, ReservedComesFromTheReplay) {
  const std::vector<PhaseReading> readings = ReadPhases(rank_);
  // Weights of 1 MiB are small blocks, two to a segment; then one segment of 20 MiB holds it all.
  EXPECT_EQ(readings[0].gpu->reserved_peak, 4 * kMiB);
  EXPECT_EQ(readings[2].gpu->reserved_start, 4 * kMiB);
  EXPECT_EQ(readings[2].gpu->reserved_peak, 24 * kMiB);
  EXPECT_EQ(readings[2].gpu->allocated_peak, 12 * kMiB);
  EXPECT_EQ(readings[3].gpu->reserved_end, 24 * kMiB);  // cached until somebody gives it back
}

TEST_F(SmallModel, EmptyCacheAtTheEndOfAPhase) {
  const auto readings = ReadPhases(rank_, {.empty_cache_after = {Phase::kSteadyStep}});
  EXPECT_EQ(readings[2].gpu->reserved_peak, 24 * kMiB);
  EXPECT_EQ(readings[2].gpu->reserved_end, 4 * kMiB);
  EXPECT_EQ(readings[3].gpu->reserved_peak, 4 * kMiB);
}

TEST_F(SmallModel, HeldAllocationsCountFromTheFirstPhaseThatComputes) {
  const std::vector<HeldAllocation> held = {{Bytes(8'519'680), "cuBLAS workspace"}};
  const auto readings = ReadPhases(rank_, {.held = held});
  EXPECT_EQ(readings[1].at(Place::kGpu).levels.end, 3 * kMiB);
  EXPECT_EQ(readings[2].at(Place::kGpu).levels.peak, 12 * kMiB + Bytes(8'519'680));
  EXPECT_EQ(readings[2].at(Place::kGpu).parts.front(),
            (Part{Role::kWorkspace, "cuBLAS workspace", Bytes(8'519'680), 1}));
  EXPECT_EQ(HighestLevels(rank_, held)[0].bytes, 12 * kMiB + Bytes(8'519'680));
  EXPECT_EQ(HighestLevels(rank_, held)[0].phase, 2u);
}

TEST_F(SmallModel, OutOfMemoryNamesTheTensorAndEndsTheReplay) {
  const auto readings = ReadPhases(rank_, {.allocator = {.capacity = 20 * kMiB}});
  ASSERT_TRUE(readings[2].gpu->out_of_memory.has_value());
  const OutOfMemory& oom = *readings[2].gpu->out_of_memory;
  EXPECT_EQ(oom.tensor, "scores");
  EXPECT_EQ(oom.operation, "softmax");
  EXPECT_EQ(oom.requested, 3 * kMiB);
  EXPECT_EQ(oom.reserved, 4 * kMiB);
  EXPECT_EQ(readings[2].at(Place::kGpu).levels.peak, 12 * kMiB);  // still read
  EXPECT_FALSE(readings[3].gpu.has_value());
}

TEST_F(SmallModel, WithoutReplayLevelsStay) {
  const auto readings = ReadPhases(rank_, {.replay = false});
  EXPECT_FALSE(readings[2].gpu.has_value());
  EXPECT_EQ(readings[2].at(Place::kGpu).levels.peak, 12 * kMiB);
}

TEST(ReadPhases, MovedBytesKeepTheirBlockAndChangeTheirRole) {
  SegmentStore store;
  const Segment* leaf =
      store.Leaf({Alloc({0, 0}, 600, Role::kActivations, "grad of out"),
                  Move({0, 0}, {0, program::kGradientSlots}, 600, Role::kGradients, "weight.grad"),
                  Alloc({0, 0}, 100, Role::kTemporary, "sum"), Free({0, 0}, 100, "sum"),
                  Free({0, program::kGradientSlots}, 600, "weight.grad")},
                 {});
  RankProgram rank;
  rank.phases = {{Phase::kSteadyStep, leaf}};
  const auto readings = ReadPhases(rank);
  EXPECT_EQ(readings[0].at(Place::kGpu).parts,
            (std::vector<Part>{{Role::kGradients, "weight.grad", Bytes(1024), 1},
                               {Role::kTemporary, "sum", Bytes(512), 1}}));
  EXPECT_EQ(readings[0].gpu->allocated_peak, Bytes(1536));
}

TEST(ReadPhases, OneSlotMayBeLiveInTwoPlaces) {
  SegmentStore store;
  const Segment* leaf =
      store.Leaf({Alloc({0, kWeight}, 1000, Role::kWeights, "w", Place::kHost),
                  Alloc({0, kWeight}, 1000, Role::kWeights, "w"), Free({0, kWeight}, 1000, "w")},
                 {});
  RankProgram rank;
  rank.phases = {{Phase::kSteadyStep, leaf}};
  const auto readings = ReadPhases(rank);
  EXPECT_EQ(readings[0].at(Place::kHost).levels.end, Bytes(1000));
  EXPECT_EQ(readings[0].at(Place::kGpu).levels, (Levels{Bytes(), Bytes(1024), Bytes()}));
}

TEST(ByRole, AddsUpLabels) {
  const std::vector<Part> parts = {{Role::kWeights, "q", Bytes(5), 1},
                                   {Role::kLogits, "logits", Bytes(4), 1},
                                   {Role::kWeights, "k", Bytes(2), 3}};
  EXPECT_EQ(ByRole(parts), (std::vector<Part>{{Role::kWeights, "", Bytes(7), 4},
                                              {Role::kLogits, "", Bytes(4), 1}}));
}

// Mistakes of a program.

void ReadOne(std::vector<Event> events) {
  SegmentStore store;
  RankProgram rank;
  rank.phases = {{Phase::kSteadyStep, store.Leaf(std::move(events), {})}};
  ReadPhases(rank);
}

void Print(const std::string& message) {
  (void)fputs(message.c_str(), stderr);
  std::abort();
}

TEST(ReadPhasesDeathTest, MistakesNameTheTensor) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  SetCheckHandler(Print);
  EXPECT_DEATH(ReadOne({Free({4, 9}, 64, "mask")}),
               "'mask' is freed in frame 4, slot 9, where no tensor is live");
  EXPECT_DEATH(
      ReadOne({Alloc({1, 2}, 64, Role::kTemporary, "a"), Alloc({1, 2}, 64, Role::kTemporary, "b")}),
      "'b' is allocated in frame 1, slot 2, where a tensor is live already");
  EXPECT_DEATH(ReadOne({Alloc({1, 2}, 64, Role::kTemporary, "a"), Free({1, 2}, 65, "a")}),
               "'a' is freed with 65 bytes but was allocated with 64");
  EXPECT_DEATH(ReadOne({Move({0, 1}, {0, 2}, 64, Role::kGradients, "grad")}),
               "'grad' is moved from frame 0, slot 1, where no tensor is live");
  SetCheckHandler(nullptr);
}

}  // namespace
}  // namespace trainfit::memory
