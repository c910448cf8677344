// ZeRO: bytes a parameter by stage and number of ranks, padding, buckets, offload. The figures are
// those of the ZeRO paper (arXiv 1910.02054, figure 1) and of the source of DeepSpeed.
#include <gtest/gtest.h>

#include "frameworks/builder.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/huggingface/model_frames.h"
#include "frameworks/huggingface/zero_partition.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;
using spec::Sharding;

constexpr std::int64_t kParameters = 8'030'261'248;

spec::Recipe RecipeOf(Sharding sharding) {
  spec::Recipe recipe;
  recipe.method = spec::Method::kFull;
  recipe.precision = spec::Precision::kBf16Mixed;
  recipe.optimizer_loop = spec::OptimizerLoop::kFused;
  recipe.attention = spec::AttentionImplementation::kFlash2;
  recipe.sharding = sharding;
  recipe.micro_batch = 1;
  recipe.sequence_length = 512;
  recipe.zero.reduce_bucket_size = 0;
  recipe.zero.param_persistence_threshold = 0;
  return recipe;
}

plan::Plan Resolve(const spec::Recipe& recipe, std::int64_t gpus) {
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  return plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts("transformers", "").value())
      .value();
}

// Of the steady step: what is there before it, and the most during it.
struct Levels {
  Bytes start;
  Bytes peak;
};
Levels Steady(const spec::Recipe& recipe, std::int64_t gpus, Place place = Place::kGpu) {
  const program::Program program = BuildProgram(Resolve(recipe, gpus));
  Levels levels;
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    const program::Extent& extent = phase.segment->summary(place);
    levels.peak = levels.start + extent.peak;
    if (phase.phase == Phase::kSteadyStep) return levels;
    levels.start += extent.net;
  }
  ADD_FAILURE() << "no steady step";
  return levels;
}

double BytesAParameter(const spec::Recipe& recipe, std::int64_t gpus, Place place = Place::kGpu) {
  return static_cast<double>(Steady(recipe, gpus, place).start.value()) / kParameters;
}

// Between steps: 16-bit weights, and 12 bytes of master weights and Adam's moments. The paper
// counts 16-bit gradients as well, which stage 3 keeps (grad_partitions_flat_buffer).
TEST(Zero, StatesBetweenSteps) {
  for (const double ranks : {2.0, 4.0, 8.0, 64.0}) {
    const auto gpus = static_cast<std::int64_t>(ranks);
    EXPECT_NEAR(BytesAParameter(RecipeOf(Sharding::kZero1), gpus), 2 + 12 / ranks, 1e-5);
    EXPECT_NEAR(BytesAParameter(RecipeOf(Sharding::kZero2), gpus), 2 + 12 / ranks, 1e-5);
    EXPECT_NEAR(BytesAParameter(RecipeOf(Sharding::kZero3), gpus), 16 / ranks, 1e-5);
  }
}

TEST(Zero, FlatGroupsArePaddedToTwiceTheRanks) {
  EXPECT_EQ(PaddedToRanks(1'000'000'007, 8), 1'000'000'016);
  EXPECT_EQ(PaddedToRanks(1'000'000'007, 8) / 8 * 4, 500'000'008);  // master weights of one rank
  EXPECT_EQ(PaddedToRanks(16, 8), 16);
}

// Partitions of 10: the tensor from 8 to 14 belongs to two ranks, whole.
TEST(Zero, GradientsOfAPartitionAreWholeTensors) {
  EXPECT_EQ(MostTouchedElements({8, 6, 6}, 10, 2), 14);
  EXPECT_EQ(MostTouchedElements({20}, 10, 2), 20);
  EXPECT_EQ(MostTouchedElements({5, 5, 5, 5}, 10, 2), 10);
}

TEST(Zero, SubGroupsCloseOnceTheyReachTheirSize) {
  EXPECT_EQ(SubGroups({4, 4, 4, 4, 4}, 10), (std::vector<std::int64_t>{12, 8}));
  EXPECT_EQ(SubGroups({4, 4}, 10), (std::vector<std::int64_t>{8}));
}

// step(): beside the gradients of the partition, their flat copy and its fp32.
TEST(Zero, Stage2StepPeaksAtFlatAndFp32Gradients) {
  const Levels levels = Steady(RecipeOf(Sharding::kZero2), 8);
  const std::int64_t partition = kParameters / 8;
  const std::int64_t above = (levels.peak - levels.start).value();
  EXPECT_GE(above, 8 * partition);
  // Whole tensors: at most one more at each end of the partition, none larger than the embedding.
  EXPECT_LE(above, 8 * partition + 4 * std::int64_t{525'336'576});
}

// torch.empty(reduce_bucket_size), twice when communication overlaps.
TEST(Zero, BucketsAreThereInBackwardAlone) {
  const auto peak = [](std::int64_t elements, bool overlaps) {
    spec::Recipe recipe = RecipeOf(Sharding::kZero2);
    recipe.zero.offload_optimizer = spec::Offload::kCpu;  // so that the step is not the peak
    recipe.zero.overlap_comm = overlaps;
    recipe.zero.reduce_bucket_size = elements;
    return Steady(recipe, 1).peak.value();
  };
  const std::int64_t largest = 600'000'000;  // beyond every tensor: no gradient waits outside
  EXPECT_EQ(peak(2 * largest, false) - peak(largest, false), 2 * largest);
  EXPECT_EQ(peak(2 * largest, true) - peak(largest, true), 4 * largest);
}

// Without optimizer states, stage 1 keeps whole gradients where stage 2 keeps those of its
// partition.
TEST(Zero, Stage1KeepsWholeGradients) {
  const auto peak = [](Sharding sharding) { return Steady(RecipeOf(sharding), 8).peak.value(); };
  const std::int64_t partition = kParameters / 8;
  // 2 Ψ of gradients and the partition's own against the step of stage 2 (see above).
  EXPECT_NEAR(static_cast<double>(peak(Sharding::kZero1) - peak(Sharding::kZero2)),
              2.0 * kParameters - 6.0 * partition, 1e9);
}

// stage_1_and_2.py: master weights, fp32 gradients and a 16-bit copy pinned, the moments not; one
// buffer of the largest tensor.
TEST(ZeroOffload, HostBytesOfStage2) {
  spec::Recipe recipe = RecipeOf(Sharding::kZero2);
  recipe.zero.offload_optimizer = spec::Offload::kCpu;
  const std::int64_t partition = kParameters / 8;
  const std::int64_t largest = 2LL * 525'336'576;
  EXPECT_EQ(Steady(recipe, 8, Place::kPinned).start.value(), 10 * partition + largest);
  EXPECT_NEAR(static_cast<double>(Steady(recipe, 8, Place::kHost).start.value()),
              static_cast<double>(18 * partition + largest), 64);
  EXPECT_NEAR(BytesAParameter(recipe, 8), 2 + static_cast<double>(largest) / kParameters, 1e-5);
}

// stage3.py: 18 bytes a parameter of the partition on the host, 20 with the parameters.
TEST(ZeroOffload, HostBytesOfStage3) {
  spec::Recipe recipe = RecipeOf(Sharding::kZero3);
  recipe.zero.offload_optimizer = spec::Offload::kCpu;
  EXPECT_NEAR(BytesAParameter(recipe, 8, Place::kHost), 18.0 / 8, 1e-5);
  EXPECT_NEAR(BytesAParameter(recipe, 8, Place::kPinned), 6.0 / 8, 1e-5);
  EXPECT_NEAR(BytesAParameter(recipe, 8), 2.0 / 8, 1e-5);
  recipe.zero.offload_param = spec::Offload::kCpu;
  EXPECT_NEAR(BytesAParameter(recipe, 8, Place::kHost), 20.0 / 8, 1e-5);
  EXPECT_NEAR(BytesAParameter(recipe, 8), 0, 1e-5);
  recipe.zero.pin_memory = false;  // the flat 16-bit partition is pinned all the same
  EXPECT_NEAR(BytesAParameter(recipe, 8, Place::kPinned), 2.0 / 8, 1e-5);
}

TEST(ZeroOffload, NvmeTakesTheStates) {
  spec::Recipe recipe = RecipeOf(Sharding::kZero3);
  recipe.zero.offload_optimizer = spec::Offload::kNvme;
  EXPECT_NEAR(BytesAParameter(recipe, 8, Place::kDisk), 12.0 / 8, 1e-5);
}

// A frozen base is partitioned by ZeRO-3 alone; master weights and moments exist for adapters only.
TEST(Zero, LoraPartitionsTheFrozenBaseInStage3Alone) {
  spec::Recipe recipe = RecipeOf(Sharding::kZero2);
  recipe.method = spec::Method::kLora;
  const double adapters = 41'943'040.0 / kParameters;
  EXPECT_NEAR(BytesAParameter(recipe, 8), 2 + adapters * (2 + 12.0 / 8), 1e-4);
  recipe.sharding = Sharding::kZero3;
  EXPECT_NEAR(BytesAParameter(recipe, 8), 2.0 / 8 + adapters * 16 / 8, 1e-4);
}

// Parts of the host's program.
struct HostPeaks {
  std::int64_t rank = 0;  // of one rank
  std::int64_t node = 0;  // once a node
};
HostPeaks PeaksOf(const spec::Recipe& recipe, Phase wanted, Place place = Place::kHost) {
  const program::Program program = BuildProgram(Resolve(recipe, 8));
  HostPeaks peaks;
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    if (phase.phase == wanted) peaks.rank = phase.segment->summary(place).peak.value();
  }
  for (const program::PhaseProgram& phase : program.node.phases) {
    if (phase.phase == wanted) peaks.node = phase.segment->summary(place).peak.value();
  }
  return peaks;
}

TEST(Host, WhoLoadsAWholeCopy) {
  constexpr std::int64_t kFile = 5'000'000'000;
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero2), Phase::kLoad).rank, 2 * kParameters + kFile);
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero3), Phase::kLoad).rank, 0);  // zero.Init
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero3), Phase::kLoad).node, kFile);
  spec::Recipe late = RecipeOf(Sharding::kZero3);
  late.zero.init_partitioned = false;
  EXPECT_EQ(PeaksOf(late, Phase::kLoad).rank, 2 * kParameters + kFile);
  spec::Recipe fsdp = RecipeOf(Sharding::kFsdp2);
  fsdp.zero = {};
  EXPECT_EQ(PeaksOf(fsdp, Phase::kLoad).node, 4 * kParameters);  // fp32, once a node
}

TEST(Host, WhatSavingGathers) {
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero2), Phase::kSave).rank, 2 * kParameters);
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero3), Phase::kSave).rank, 0);
  EXPECT_EQ(PeaksOf(RecipeOf(Sharding::kZero3), Phase::kSave).node, 2 * kParameters);
}

// A checkpoint: 16-bit weights, and 12 bytes a parameter of master weights and moments; then the
// final model.
TEST(Disk, DownloadAndCheckpoint) {
  const spec::Recipe recipe = RecipeOf(Sharding::kZero3);
  EXPECT_EQ(PeaksOf(recipe, Phase::kDownload, Place::kDisk).node, 2 * kParameters);
  EXPECT_NEAR(static_cast<double>(PeaksOf(recipe, Phase::kSave, Place::kDisk).node) / kParameters,
              2 + 12 + 2, 1e-4);
}

TEST(Zero3, CutsNoWordsOfOtherKindsThanBlocks) {
  const auto resolves = [](spec::Quantization quantization, Sharding sharding) {
    spec::Recipe recipe = RecipeOf(sharding);
    recipe.method = spec::Method::kQlora;
    recipe.quantization = quantization;
    spec::Machine machine;
    machine.gpus_per_node = 2;
    return plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts("transformers", "").value())
        .has_value();
  };
  EXPECT_TRUE(resolves(spec::Quantization::kNf4, Sharding::kZero3));
  EXPECT_TRUE(resolves(spec::Quantization::kGptq4, Sharding::kZero2));
  EXPECT_FALSE(resolves(spec::Quantization::kGptq4, Sharding::kZero3));
  EXPECT_FALSE(resolves(spec::Quantization::kInt8, Sharding::kZero3));
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
