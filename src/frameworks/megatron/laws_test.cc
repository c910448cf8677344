// Published laws of Megatron's memory as outcomes of the recorded programs. The formulas stand
// here, and nowhere in the product.
#include <gtest/gtest.h>

#include "frameworks/builder.h"
#include "frameworks/megatron/example_models.h"
#include "frameworks/megatron/layer.h"
#include "frameworks/registry.h"
#include "program/schedule.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Phase;
using program::Place;

constexpr std::int64_t s = 1024, b = 2, h = 1024, a = 16;

spec::Recipe RecipeOf(spec::AttentionImplementation attention) {
  spec::Recipe recipe;
  recipe.attention = attention;
  recipe.micro_batch = b;
  recipe.sequence_length = s;
  recipe.precision = spec::Precision::kBf16Mixed;
  return recipe;
}

plan::Plan Resolve(const spec::Recipe& recipe, std::int64_t gpus, const GptShape& shape = {}) {
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  auto plan = plan::ResolvePlan(recipe, Gpt(shape), machine, FindFacts("megatron", "").value());
  if (!plan.has_value()) ADD_FAILURE() << plan.error().front().message;
  return plan.value();
}

std::int64_t Net(const program::Segment& segment) {
  return segment.summary(Place::kGpu).net.value();
}

std::int64_t SavedByLayer(const plan::Plan& plan, bool recomputed = false) {
  program::SegmentStore store;
  return Net(*RecordLayer(plan, plan.model->Text().kinds[0], recomputed, store).forward);
}

const program::Segment& PhaseOf(const program::RankProgram& rank, Phase phase) {
  for (const program::PhaseProgram& candidate : rank.phases) {
    if (candidate.phase == phase) return *candidate.segment;
  }
  ADD_FAILURE() << "no such phase";
  return *rank.phases.front().segment;
}

spec::Recipe Split(std::int64_t tensor, bool sequence) {
  spec::Recipe recipe = RecipeOf(spec::AttentionImplementation::kEager);
  recipe.parallelism = spec::Parallelism{.tensor = tensor, .sequence_parallel = sequence};
  return recipe;
}

// Statistics of the two norms, which the law leaves out: mean and rstd in fp32.
constexpr std::int64_t Statistics(std::int64_t tokens) { return 16 * tokens; }

// arXiv 2205.05198, equation 1: s b h (34 + 5 a s / h).
TEST(LayerLaw, Serial) {
  const plan::Plan plan = Resolve(Split(1, false), 1);
  EXPECT_EQ(SavedByLayer(plan), 34 * s * b * h + 5 * a * s * s * b + Statistics(s * b));
}

// Equation 2: s b h (10 + 24 / t + 5 a s / (h t)).
TEST(LayerLaw, TensorParallel) {
  for (const std::int64_t t : {2, 4, 8}) {
    const plan::Plan plan = Resolve(Split(t, false), t);
    EXPECT_EQ(SavedByLayer(plan),
              10 * s * b * h + 24 * s * b * h / t + 5 * a * s * s * b / t + Statistics(s * b));
  }
}

// Equation 4: everything divided by t.
TEST(LayerLaw, TensorAndSequenceParallel) {
  for (const std::int64_t t : {2, 4, 8}) {
    const plan::Plan plan = Resolve(Split(t, true), t);
    EXPECT_EQ(SavedByLayer(plan),
              34 * s * b * h / t + 5 * a * s * s * b / t + Statistics(s * b / t));
  }
}

// Sequences × heads of a rank that four does not divide have no fused softmax: in fp16 the
// probabilities are kept in fp32 as well.
TEST(LayerLaw, SoftmaxOfTorch) {
  spec::Recipe recipe = Split(8, false);
  recipe.micro_batch = 1;
  recipe.precision = spec::Precision::kFp16Mixed;
  recipe.hidden_dropout = recipe.attention_dropout = 0.0;
  const std::int64_t scores = a / 8 * s * s;
  const std::int64_t alone = SavedByLayer(Resolve(recipe, 8));
  recipe.micro_batch = 2;
  const std::int64_t fused = SavedByLayer(Resolve(recipe, 8));
  EXPECT_EQ(2 * alone - fused, 2 * 4 * scores);
}

// Of the 34, 14 are inputs of linears: in 8 bits they are half as large.
TEST(LayerLaw, InputsOfLinearsInFp8) {
  for (const auto scaling : {spec::Fp8Scaling::kDelayed, spec::Fp8Scaling::kMx}) {
    spec::Recipe recipe = Split(2, true);
    recipe.fp8 = spec::Fp8{scaling};
    const plan::Plan plan = Resolve(recipe, 2);
    EXPECT_EQ(SavedByLayer(plan),
              27 * s * b * h / 2 + 5 * a * s * s * b / 2 + Statistics(s * b / 2));
    program::SegmentStore store;
    const Piece piece = RecordLayer(plan, plan.model->Text().kinds[0], false, store);
    EXPECT_EQ(Net(*piece.forward) + Net(*piece.backward), 0);
  }
}

// Selective recomputation leaves 34 s b h / t; full recomputation the layer's input.
TEST(LayerLaw, Recomputation) {
  spec::Recipe recipe = Split(4, true);
  recipe.checkpointing = spec::Checkpointing::kSelective;
  recipe.recompute = {spec::Recompute::kCoreAttention};
  EXPECT_EQ(SavedByLayer(Resolve(recipe, 4)), 34 * s * b * h / 4 + Statistics(s * b / 4));
  recipe.checkpointing = spec::Checkpointing::kFull;
  EXPECT_EQ(SavedByLayer(Resolve(recipe, 4), true), 2 * s * b * h / 4);
}

// What forward saved is gone after backward: gradients go into the buffer.
TEST(LayerLaw, BackwardLeavesNothing) {
  for (const auto attention :
       {spec::AttentionImplementation::kEager, spec::AttentionImplementation::kFlash2,
        spec::AttentionImplementation::kCudnn}) {
    for (const bool sequence : {false, true}) {
      spec::Recipe recipe = Split(2, sequence);
      recipe.attention = attention;
      const plan::Plan plan = Resolve(recipe, 2);
      program::SegmentStore store;
      const Piece piece = RecordLayer(plan, plan.model->Text().kinds[0], false, store);
      EXPECT_EQ(Net(*piece.forward) + Net(*piece.backward), 0);
    }
  }
}

// megatron/training/theoretical_memory_usage.py: 18 bytes a parameter, 6 + 12 / d with the
// distributed optimizer.
TEST(StatesLaw, BytesAParameter) {
  for (const bool is_distributed : {false, true}) {
    spec::Recipe recipe = RecipeOf(spec::AttentionImplementation::kFlash2);
    recipe.fused_accumulation = false;  // which keeps placeholder gradients besides
    recipe.sharding = is_distributed ? spec::Sharding::kZero1 : spec::Sharding::kDdp;
    const plan::Plan plan = Resolve(recipe, 8);
    const program::Program program = BuildProgram(plan);
    const program::RankProgram& rank = program.ranks.front();
    double held = 0;
    for (const Phase phase : {Phase::kLoad, Phase::kInit, Phase::kFirstStep}) {
      held += static_cast<double>(Net(PhaseOf(rank, phase)));
    }
    const double parameters = 8 * (12.0 * h * h + 13 * h) + 51200.0 * h + 1024.0 * h + 2 * h;
    EXPECT_NEAR(held / parameters, is_distributed ? 6 + 12.0 / 8 : 18, 0.02);
    EXPECT_EQ(Net(PhaseOf(rank, Phase::kSteadyStep)), 0);
  }
}

// Beside 18 bytes a parameter, a matrix of a layer has a copy along its rows and one along its
// columns; one that is stored in 8 bits is the first itself.
TEST(StatesLaw, CopiesInFp8) {
  const auto held = [](std::optional<spec::Fp8> fp8) {
    spec::Recipe recipe = Split(1, false);
    recipe.fp8 = fp8;
    const plan::Plan plan = Resolve(recipe, 1);
    const program::Program program = BuildProgram(plan);
    const program::RankProgram& rank = program.ranks.front();
    std::int64_t bytes = 0;
    for (const Phase phase : {Phase::kLoad, Phase::kInit, Phase::kFirstStep}) {
      bytes += Net(PhaseOf(rank, phase));
    }
    return bytes;
  };
  const std::int64_t matrices = GptShape().layers * 12 * h * h;
  const std::int64_t without = held(std::nullopt);
  EXPECT_EQ(held(spec::Fp8{}) - without, 2 * matrices);
  EXPECT_EQ(held(spec::Fp8{spec::Fp8Scaling::kMx, true}) - without, 0);
}

TEST(Schedule, InFlightMicroBatches) {
  plan::Parallel parallel;
  parallel.pipeline = 4;
  parallel.stage_layers = {2, 2, 2, 2};
  for (const std::int64_t micro_batches : {1, 3, 8, 100}) {
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      const program::StageOrder order = program::OrderOf(parallel, stage, micro_batches);
      std::int32_t most = 0;
      for (const auto* passes : {&order.before, &order.period, &order.after}) {
        for (const program::Pass& pass : *passes) most = std::max(most, pass.place + 1);
      }
      EXPECT_EQ(most, std::min<std::int64_t>(4 - stage, micro_batches));
      EXPECT_EQ(order.before.size() +
                    order.period.size() * static_cast<std::size_t>(order.repeats) +
                    order.after.size(),
                static_cast<std::size_t>(2 * micro_batches));
    }
  }
}

// Interleaving: the first stage holds 1 + (p − 1) / (p v) times what it holds without, which is
// 2 (p − 1) + (v − 1) p + 1 chunks.
TEST(Schedule, InterleavedKeepsMoreChunks) {
  plan::Parallel parallel;
  parallel.pipeline = 4;
  parallel.virtual_stages = 2;
  parallel.stage_layers = {2, 2, 2, 2};
  const program::StageOrder order = program::OrderOf(parallel, 0, 16);
  std::int64_t level = 0;
  std::int64_t most = 0;
  const auto run = [&](const std::vector<program::Pass>& passes) {
    for (const program::Pass& pass : passes) {
      level += pass.is_forward ? 1 : -1;
      most = std::max(most, level);
    }
  };
  run(order.before);
  for (std::int64_t i = 0; i < order.repeats; ++i) run(order.period);
  run(order.after);
  EXPECT_EQ(most, 2 * 3 + 4 + 1);
  EXPECT_EQ(level, 0);
}

// Every configuration closes its account, and each stage is there once.
TEST(Program, StepsLeaveNothingBehind) {
  for (const std::int64_t pipeline : {1, 2, 4}) {
    for (const std::int64_t chunks : {1, 2}) {
      if (pipeline == 1 && chunks > 1) continue;
      for (const auto checkpointing : {spec::Checkpointing::kNone, spec::Checkpointing::kFull}) {
        spec::Recipe recipe = RecipeOf(spec::AttentionImplementation::kFlash2);
        recipe.checkpointing = checkpointing;
        recipe.gradient_accumulation = 8;
        recipe.parallelism = spec::Parallelism{
            .tensor = 2, .pipeline = pipeline, .virtual_stages = chunks, .sequence_parallel = true};
        const plan::Plan plan = Resolve(recipe, 4 * pipeline);
        const program::Program program = BuildProgram(plan);
        std::int64_t ranks = 0;
        for (const program::RankProgram& rank : program.ranks) {
          ranks += rank.count;
          EXPECT_EQ(Net(PhaseOf(rank, Phase::kSteadyStep)), 0);
        }
        EXPECT_EQ(ranks, 4 * pipeline);
      }
    }
  }
}

TEST(Parallelism, WrongSplitsAreRefused) {
  struct Case {
    spec::Parallelism parallelism;
    std::int64_t gpus;
    const char* part;  // of the message
  };
  const Case cases[] = {
      {{.tensor = 3}, 3, "16 heads cannot be split evenly by tensor 3"},
      {{.pipeline = 3}, 3, "8 layers cannot be split evenly into 3 chunks"},
      {{.tensor = 4}, 6, "which does not divide the 6"},
      {{.virtual_stages = 2}, 1, "virtual stages need a pipeline"},
      {{.pipeline = 2, .virtual_stages = 2}, 2, "multiple of 2 micro-batches"},
      {{.expert = 2}, 2, "has no experts"},
      {{.tensor = 0}, 1, "between 1 and"},
      {{.pipeline = 2, .first_stage_layers = 9}, 2, "cannot be split"},
  };
  for (const Case& c : cases) {
    spec::Recipe recipe = RecipeOf(spec::AttentionImplementation::kFlash2);
    recipe.parallelism = c.parallelism;
    spec::Machine machine;
    machine.gpus_per_node = c.gpus;
    const auto plan = plan::ResolvePlan(recipe, Gpt(), machine, FindFacts("megatron", "").value());
    ASSERT_FALSE(plan.has_value()) << c.part;
    EXPECT_NE(plan.error().front().message.find(c.part), std::string::npos)
        << plan.error().front().message;
  }
}

}  // namespace
}  // namespace trainfit::frameworks::megatron
