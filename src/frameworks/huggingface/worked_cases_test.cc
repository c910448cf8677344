// Worked cases, as outcomes of the recorded programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "frameworks/builder.h"
#include "frameworks/huggingface/block.h"
#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/huggingface/states.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;
using spec::Method;
using spec::Precision;

constexpr std::int64_t kLayers = 32;

spec::Recipe RecipeOf(Method method, Precision precision, std::int64_t tokens) {
  spec::Recipe recipe;
  recipe.method = method;
  recipe.precision = precision;
  recipe.attention = spec::AttentionImplementation::kFlash2;
  recipe.micro_batch = 1;
  recipe.sequence_length = tokens;
  return recipe;
}

plan::Plan Resolve(const spec::Recipe& recipe, const LlamaShape& shape = {}, std::int64_t gpus = 1,
                   const char* versions = "") {
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  return plan::ResolvePlan(recipe, LlamaStyle(shape), machine,
                           FindFacts("transformers", versions).value())
      .value();
}

const program::Segment& PhaseOf(const program::Program& program, Phase phase) {
  for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
    if (candidate.phase == phase) return *candidate.segment;
  }
  ADD_FAILURE() << "no such phase";
  return *program.ranks.front().phases.front().segment;
}

std::int64_t Net(const program::Segment& segment) {
  return segment.summary(Place::kGpu).net.value();
}

TEST(WorkedCase6, SavedByAllLayersWithoutCheckpointing) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 8192);
  recipe.checkpointing = spec::Checkpointing::kNone;
  const plan::Plan plan = Resolve(recipe);
  program::SegmentStore store;
  const BlockSegments block = RecordBlock(plan, plan.model->Text().kinds[0], store, true, false);
  EXPECT_EQ(Net(*block.forward), 1'645'281'280);
  EXPECT_EQ(kLayers * Net(*block.forward), 52'649'000'960);
}

// Inputs of the 32 layers, one block's saved tensors, and at the silu · up multiply of the
// recomputed block 4i + 2h bytes a token of gradients.
TEST(WorkedCase6, CheckpointedPeakInsideBackward) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 8192);
  recipe.checkpointing = spec::Checkpointing::kFull;
  const plan::Plan plan = Resolve(recipe);
  program::SegmentStore store;
  const BlockSegments block = RecordBlock(plan, plan.model->Text().kinds[0], store, true, false);
  const std::int64_t inputs = kLayers * Net(*block.forward);
  EXPECT_EQ(inputs, 2'147'483'648);
  // The incoming gradient is there at entry; the down projection's gradient (2 B × 58,720,256) is
  // the only weight gradient that exists by then.
  const std::int64_t incoming = 2LL * 4096 * 8192;
  const std::int64_t down_gradient = 2LL * 58'720'256;
  const std::int64_t peak = block.backward->summary(Place::kGpu).peak.value();
  EXPECT_EQ(peak + incoming - down_gradient, 1'645'281'280LL + 536'870'912);
}

// Packed weights, scales and the unquantized rest; small tables and offsets take 512 bytes each.
TEST(WorkedCase3, QloraWeights) {
  const auto load = [](bool kbit_preparation) {
    spec::Recipe recipe = RecipeOf(Method::kQlora, Precision::kBf16Mixed, 1024);
    recipe.kbit_preparation = kbit_preparation;
    return Net(PhaseOf(BuildProgram(Resolve(recipe)), Phase::kLoad));
  };
  const std::int64_t small = 224LL * (512 + 512 + 1024);  // code, offset; nested code
  EXPECT_NEAR(static_cast<double>(load(false) - small), 5'702'295'552.0, 224 * 512);
  EXPECT_NEAR(static_cast<double>(load(true) - small), 7'804'174'336.0, 224 * 512);
}

TEST(WorkedCase4, EightBitAdamStates) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 1024);
  recipe.optimizer = spec::Optimizer::kAdamW8bit;
  const program::Program program = BuildProgram(Resolve(recipe));
  const std::int64_t states =
      Net(PhaseOf(program, Phase::kFirstStep)) - Net(PhaseOf(program, Phase::kSteadyStep));
  EXPECT_NEAR(static_cast<double>(states), 19'447'070'848.0, 291 * 4 * 512);
}

// Measured by fms-acceleration: full fine-tuning in pure bf16 peaks at 10.0 bytes a parameter with
// the foreach AdamW of torch 2.4: weights, gradients, two moments and one temporary, 2 bytes each.
TEST(MeasuredFacts, PureBf16ForeachPeaksAtTenBytesAParameter) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 4096);
  recipe.checkpointing = spec::Checkpointing::kFull;
  recipe.loss = spec::LossKernel::kFusedLinear;
  const program::Program program = BuildProgram(Resolve(recipe, {}, 1, "torch==2.4.0"));
  Bytes level;
  Bytes peak;
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    peak = std::max(peak, level + phase.segment->summary(Place::kGpu).peak);
    level += phase.segment->summary(Place::kGpu).net;
  }
  EXPECT_NEAR(static_cast<double>(peak.value()) / 8'030'261'248.0, 10.0, 0.01);
}

TEST(WorkedCase10, Fsdp2StaticAndUnit) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Mixed, 1024);
  recipe.sharding = spec::Sharding::kFsdp2;
  const program::Program program = BuildProgram(Resolve(recipe, {}, 8));
  const std::int64_t weights = Net(PhaseOf(program, Phase::kLoad));
  const std::int64_t states =
      Net(PhaseOf(program, Phase::kFirstStep)) - Net(PhaseOf(program, Phase::kSteadyStep));
  // 4 Ψ / 8 of weights and 8 Ψ / 8 of moments; step counters take 512 bytes each.
  EXPECT_EQ(weights, 4'015'130'624);
  EXPECT_NEAR(static_cast<double>(states), 8'030'261'248.0, 291 * 512);
}

// A step leaves nothing behind, whatever the configuration.
TEST(Program, SteadyStepClosesItsAccount) {
  for (const Method method : {Method::kFull, Method::kLora, Method::kQlora}) {
    for (const auto checkpointing : {spec::Checkpointing::kNone, spec::Checkpointing::kFull}) {
      for (const std::int64_t gpus : {1, 4}) {
        for (const std::int64_t accumulation : {1, 3}) {
          spec::Recipe recipe = RecipeOf(method, Precision::kBf16Mixed, 512);
          recipe.checkpointing = checkpointing;
          recipe.gradient_accumulation = accumulation;
          LlamaShape small{4, 512, 1024, 8, 2, 64, 4096};
          const program::Program program = BuildProgram(Resolve(recipe, small, gpus));
          EXPECT_EQ(Net(PhaseOf(program, Phase::kSteadyStep)), 0)
              << Name(method) << " " << Name(checkpointing) << " gpus " << gpus << " accumulation "
              << accumulation;
        }
      }
    }
  }
}

struct LossRow {
  const char* name;
  const char* versions;
  std::int64_t batch;
  double forward;  // bytes a logit
  double backward;
};

// Bytes per logit at the peak, with a head so wide that nothing else counts.
TEST(LossTable, BytesPerLogit) {
  const LossRow rows[] = {
      {"<= 4.45, batch 2", "transformers==4.44.2", 2, 12, 12},
      {"<= 4.45, batch 1", "transformers==4.44.2", 1, 8, 12},
      {"4.46-4.48, batch 2", "transformers==4.48.3", 2, 14, 12},
      {"4.46-4.48, batch 1", "transformers==4.48.3", 1, 10, 12},
      {">= 4.49", "transformers==4.49.0", 2, 10, 12},
  };
  for (const LossRow& row : rows) {
    // Long, since the shifted logits lack one position a row.
    constexpr std::int64_t kLength = 4096;
    spec::Recipe recipe = RecipeOf(Method::kLora, Precision::kBf16Pure, kLength);
    recipe.micro_batch = row.batch;
    const LlamaShape wide{1, 64, 64, 1, 1, 64, 262144};
    const plan::Plan plan = Resolve(recipe, wide, 1, row.versions);
    program::SegmentStore store;
    const EndSegments head = RecordHead(plan, store, false);
    const double logits = static_cast<double>(kLength * row.batch) * 262144;
    const double forward = static_cast<double>(head.forward->summary(Place::kGpu).peak.value());
    const double left = static_cast<double>(Net(*head.forward));
    const double backward =
        left + static_cast<double>(head.backward->summary(Place::kGpu).peak.value());
    // Shifted copies lack one row of 512.
    EXPECT_NEAR(forward / logits, row.forward, 0.01) << row.name;
    EXPECT_NEAR(backward / logits, row.backward, 0.01) << row.name;
  }
}

// Logits that are fp32 already need no copy: 4 + 4 in forward, 12 in backward.
TEST(LossTable, Fp32LogitsAreNotCopied) {
  spec::Recipe recipe = RecipeOf(Method::kLora, Precision::kFp32, 4096);
  recipe.attention = spec::AttentionImplementation::kSdpa;
  recipe.load_dtype = spec::Dtype::kFp32;
  const plan::Plan plan = Resolve(recipe, {1, 64, 64, 1, 1, 64, 262144});
  program::SegmentStore store;
  const EndSegments head = RecordHead(plan, store, false);
  const double logits = 4096.0 * 262144;
  const auto peak = [](const program::Segment& segment) {
    return static_cast<double>(segment.summary(Place::kGpu).peak.value());
  };
  EXPECT_NEAR(peak(*head.forward) / logits, 8, 0.01);
  EXPECT_NEAR((static_cast<double>(Net(*head.forward)) + peak(*head.backward)) / logits, 12, 0.01);
}

// A loss that writes its gradient over the logits, fp32 copies as the model makes them: 2 + 4
// bytes; backward adds the gradient of the copy's source, 2 more.
TEST(LossTable, GradientInPlace) {
  spec::Recipe recipe = RecipeOf(Method::kLora, Precision::kBf16Pure, 4096);
  recipe.loss = spec::LossKernel::kTritonCrossEntropy;
  const plan::Plan plan = Resolve(recipe, {1, 64, 64, 1, 1, 64, 262144});
  program::SegmentStore store;
  const EndSegments head = RecordHead(plan, store, false);
  const double logits = 4096.0 * 262144;
  const auto peak = static_cast<double>(head.forward->summary(Place::kGpu).peak.value());
  EXPECT_NEAR(peak / logits, 6, 0.01);
  const auto later = static_cast<double>(head.backward->summary(Place::kGpu).peak.value());
  EXPECT_NEAR(later / logits, 2, 0.01);
}

// ceil(128256 / 4096) = 32 chunks of 256 rows: a chunk of logits (bf16) and the gradient of the
// hidden states, with a frozen head.
TEST(WorkedCase7, LigerFusedLinearCrossEntropy) {
  spec::Recipe recipe = RecipeOf(Method::kLora, Precision::kBf16Pure, 8192);
  recipe.loss = spec::LossKernel::kFusedLinear;
  const plan::Plan plan = Resolve(recipe);
  program::SegmentStore store;
  const EndSegments head = RecordHead(plan, store, false);
  constexpr std::int64_t kChunk = 65'667'072;
  constexpr std::int64_t kGradient = 67'108'864;
  // The final norm's output besides, and for some moments a second chunk (`.float()`, gradient).
  EXPECT_GE(head.forward->summary(Place::kGpu).peak.value(), kChunk + kGradient);
  EXPECT_LE(head.forward->summary(Place::kGpu).peak.value(), 4 * kChunk + 4 * kGradient);
  EXPECT_GE(Net(*head.forward), kGradient);
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
