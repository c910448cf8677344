// FSDP1: what a rank holds, by world size; what a step adds; what frozen units keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "frameworks/builder.h"
#include "frameworks/huggingface/example_models.h"
#include "frameworks/registry.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;
using spec::Method;
using spec::Precision;

constexpr const char* kVersions =
    "torch==2.4.1 transformers==4.45.2 accelerate==1.0.1 peft==0.13.2";
constexpr double kParameters = 8'030'261'248;  // of Llama-3-8B

spec::Recipe RecipeOf(Method method, Precision precision, std::int64_t tokens) {
  spec::Recipe recipe;
  recipe.method = method;
  recipe.precision = precision;
  recipe.attention = spec::AttentionImplementation::kFlash2;
  recipe.checkpointing = spec::Checkpointing::kFull;
  recipe.loss = spec::LossKernel::kFusedLinear;
  recipe.load_dtype = spec::Dtype::kBf16;
  recipe.micro_batch = 1;
  recipe.sequence_length = tokens;
  return recipe;
}

program::Program Build(spec::Recipe recipe, std::int64_t gpus, const LlamaShape& shape = {},
                       const char* versions = kVersions) {
  spec::Machine machine;
  machine.gpus_per_node = gpus;
  if (gpus > 1) recipe.sharding = spec::Sharding::kFsdp1;
  return BuildProgram(plan::ResolvePlan(recipe, LlamaStyle(shape), machine,
                                        FindFacts("transformers", versions).value())
                          .value());
}

double Net(const program::Program& program, Phase phase) {
  for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
    if (candidate.phase != phase) continue;
    return static_cast<double>(candidate.segment->summary(Place::kGpu).net.value());
  }
  ADD_FAILURE() << "no such phase";
  return 0;
}

double Peak(const program::Program& program) {
  Bytes level;
  Bytes peak;
  for (const program::PhaseProgram& phase : program.ranks.front().phases) {
    peak = std::max(peak, level + phase.segment->summary(Place::kGpu).peak);
    level += phase.segment->summary(Place::kGpu).net;
  }
  return static_cast<double>(peak.value());
}

// Measured by fms-acceleration on Mistral-7B and Llama-3-8B: 10 bytes a parameter over the ranks,
// in the optimizer's step. With more ranks the whole root unit and its gradient weigh more than
// that.
TEST(Fsdp1, PureBf16PeaksAtTenBytesAParameterOverTheRanks) {
  const program::Program program = Build(RecipeOf(Method::kFull, Precision::kBf16Pure, 512), 2);
  EXPECT_NEAR(Net(program, Phase::kLoad) * 2 / kParameters, 2.0, 0.001);
  EXPECT_NEAR(Peak(program) * 2 / kParameters, 10.0, 0.01);
}

// Measured by fms-acceleration with bf16=True: 72.435 GB of 7.2417e9 parameters on two GPUs.
TEST(Fsdp1, MixedPrecisionShardsInFp32WhateverWasLoaded) {
  const program::Program program = Build(RecipeOf(Method::kFull, Precision::kBf16Mixed, 512), 2);
  EXPECT_NEAR(Net(program, Phase::kLoad) * 2 / kParameters, 4.0, 0.001);
  EXPECT_NEAR(Peak(program) * 2 / kParameters, 20.0, 0.01);
  const program::Program before = Build(RecipeOf(Method::kFull, Precision::kBf16Mixed, 512), 2, {},
                                        "torch==2.2.0 accelerate==0.29.0 transformers==4.40.0");
  EXPECT_NEAR(Net(before, Phase::kLoad) * 2 / kParameters, 2.0, 0.001);
}

// no_sync leaves gradients whole: 2 bytes a parameter whatever the number of ranks.
TEST(Fsdp1, AccumulationHoldsWholeGradients) {
  spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 512);
  const double once = Peak(Build(recipe, 8));
  recipe.gradient_accumulation = 2;
  const double twice = Peak(Build(recipe, 8));
  EXPECT_LT(once, 2 * kParameters);
  EXPECT_GT(twice, (2 + 6.0 / 8) * kParameters);  // beside weights and moments
}

// Measured by fms-acceleration with a fused loss: two or four GPUs need 245.8 kB a token more than
// one, which is 30 layers' gradients of their inputs, 2 × 4096 bytes each.
TEST(Fsdp1, FrozenCheckpointedUnitsKeepInputsAndTheirGradients) {
  const auto slope = [](std::int64_t gpus, const char* versions) {
    const auto peak = [&](std::int64_t tokens) {
      return Peak(
          Build(RecipeOf(Method::kLora, Precision::kBf16Mixed, tokens), gpus, {}, versions));
    };
    return (peak(65536) - peak(32768)) / 32768;
  };
  const double one = slope(1, kVersions);
  EXPECT_NEAR(slope(2, kVersions) - one, 30.0 * 2 * 4096, 1);
  EXPECT_NEAR(slope(4, kVersions) - one, 30.0 * 2 * 4096, 1);
  EXPECT_NEAR(
      slope(2, "torch==2.0.1 transformers==4.45.2") - slope(1, "torch==2.0.1 transformers==4.45.2"),
      0, 1);
}

// SHARD_GRAD_OP, and reshard_after_forward=False: all layers' whole weights at once.
TEST(Fsdp, WholeWeightsStayUntilBackwardWithoutResharding) {
  for (const spec::Sharding sharding : {spec::Sharding::kFsdp1, spec::Sharding::kFsdp2}) {
    spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 512);
    recipe.sharding = sharding;
    spec::Machine machine;
    machine.gpus_per_node = 8;
    const auto build = [&](bool reshards) {
      recipe.reshard_after_forward = reshards;
      return BuildProgram(plan::ResolvePlan(recipe, LlamaStyle(), machine,
                                            FindFacts("transformers", kVersions).value())
                              .value());
    };
    EXPECT_LT(Peak(build(true)), 2 * kParameters) << Name(sharding);
    EXPECT_GT(Peak(build(false)), (2 + 6.0 / 8) * kParameters) << Name(sharding);
    EXPECT_EQ(Net(build(false), Phase::kSteadyStep), 0) << Name(sharding);
  }
}

TEST(Fsdp1, SteadyStepClosesItsAccount) {
  const LlamaShape small{4, 512, 1024, 8, 2, 64, 4096};
  for (const Method method : {Method::kFull, Method::kLora, Method::kQlora}) {
    for (const auto checkpointing : {spec::Checkpointing::kNone, spec::Checkpointing::kFull}) {
      for (const std::int64_t accumulation : {1, 3}) {
        for (const char* versions : {kVersions, ""}) {
          spec::Recipe recipe = RecipeOf(method, Precision::kBf16Mixed, 512);
          recipe.checkpointing = checkpointing;
          recipe.gradient_accumulation = accumulation;
          EXPECT_EQ(Net(Build(recipe, 4, small, versions), Phase::kSteadyStep), 0)
              << Name(method) << " " << Name(checkpointing) << " " << accumulation;
        }
      }
    }
  }
}

// Selective checkpointing keeps, of a Llama-3-8B layer, the outputs of the query, value, gate and
// down projections and of attention, 2 bytes each, and the fp32 log-sum-exp of 32 heads. The layer
// that is being recomputed holds its own either way.
TEST(Selective, KeepsEveryOtherProductAndAttention) {
  const auto slope = [](spec::Checkpointing checkpointing) {
    const auto peak = [&](std::int64_t tokens) {
      spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, tokens);
      recipe.checkpointing = checkpointing;
      return Peak(Build(recipe, 1));
    };
    return (peak(131072) - peak(65536)) / 65536;
  };
  const double kept = slope(spec::Checkpointing::kPerOperator) - slope(spec::Checkpointing::kFull);
  const double layer = 2 * (4096 + 1024 + 14336 + 4096 + 4096) + 4 * 32;
  EXPECT_NEAR(kept, 31 * layer, 0.01 * 31 * layer);
}

// litgpt wraps trained adapters and frozen weights of a block into one unit, whose whole gradient
// is computed: two GPUs can need more than one.
TEST(Fsdp1, OneUnitOfFrozenAndTrainedWeightsGetsWholeGradients) {
  const auto backward_temporaries = [](const char* framework) {
    spec::Recipe recipe = RecipeOf(Method::kLora, Precision::kBf16Pure, 16);
    recipe.loss = spec::LossKernel::kPlain;
    recipe.sharding = spec::Sharding::kFsdp1;
    spec::Machine machine;
    machine.gpus_per_node = 2;
    return Peak(BuildProgram(
        plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts(framework, "").value())
            .value()));
  };
  // 218e6 parameters a layer: their gradients one by one, and laid end to end.
  EXPECT_GT(backward_temporaries("litgpt") - backward_temporaries("fsdp_qlora"), 2 * 218e6);
}

TEST(Frameworks, EachAnswersEveryQuestionAndCloses) {
  const LlamaShape small{4, 512, 1024, 8, 2, 64, 4096};
  using spec::Sharding;
  for (const char* name : {"composer", "fsdp_qlora", "litgpt", "torchtitan", "torchtune"}) {
    for (const Sharding sharding : {Sharding::kNone, Sharding::kFsdp1, Sharding::kFsdp2}) {
      for (const std::int64_t accumulation : {1, 3}) {
        spec::Recipe recipe;
        recipe.precision = Precision::kBf16Mixed;
        recipe.gradient_accumulation = accumulation;
        recipe.sequence_length = 512;
        recipe.sharding = sharding;
        spec::Machine machine;
        machine.gpus_per_node = sharding == Sharding::kNone ? 1 : 4;
        const program::Program program = BuildProgram(
            plan::ResolvePlan(recipe, LlamaStyle(small), machine, FindFacts(name, "").value())
                .value());
        EXPECT_EQ(Net(program, Phase::kSteadyStep), 0) << name << " " << Name(sharding);
      }
    }
  }
}

// fms_acceleration_peft makes parameters of qweight and qzeros; otherwise GPTQ's words are buffers,
// which each rank holds whole.
TEST(Fsdp1, GroupedWordsAreShardedByThePluginAlone) {
  spec::Recipe recipe = RecipeOf(Method::kQlora, Precision::kFp16Mixed, 512);
  recipe.load_dtype = spec::Dtype::kFp16;
  recipe.quantization = spec::Quantization::kGptq4;
  const std::string versions = kVersions;
  const auto loaded = [&](std::int64_t gpus, const std::string& with) {
    return Net(Build(recipe, gpus, {}, with.c_str()), Phase::kLoad);
  };
  const std::string plugin = versions + " fms-acceleration-peft==0.6.0";
  const double blocks = 32 * 218'103'808.0;  // weights of the linear layers
  const double words = blocks / 2 + blocks / 128 / 2;
  EXPECT_NEAR(loaded(2, versions) - loaded(2, plugin), words / 2, words / 1000);
  EXPECT_NEAR(loaded(4, versions) - loaded(4, plugin), words * 3 / 4, words / 1000);
}

TEST(Fsdp1, IntegersCannotBeSharded) {
  spec::Recipe recipe = RecipeOf(Method::kQlora, Precision::kBf16Mixed, 512);
  recipe.quantization = spec::Quantization::kInt8;
  recipe.sharding = spec::Sharding::kFsdp1;
  spec::Machine machine;
  machine.gpus_per_node = 2;
  EXPECT_FALSE(
      plan::ResolvePlan(recipe, LlamaStyle(), machine, FindFacts("transformers", kVersions).value())
          .has_value());
}

// CPUOffload: between steps nothing of the model is on the GPU, and the host holds its shards and
// as much again for their gradients, then the states.
TEST(Fsdp, OffloadedShardsLieOnTheHost) {
  const auto net = [](const program::Program& program, Phase phase, Place place) {
    for (const program::PhaseProgram& candidate : program.ranks.front().phases) {
      if (candidate.phase != phase) continue;
      return static_cast<double>(candidate.segment->summary(place).net.value());
    }
    return -1.0;
  };
  for (const auto sharding : {spec::Sharding::kFsdp1, spec::Sharding::kFsdp2}) {
    spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 512);
    recipe.sharding = sharding;
    recipe.zero.offload_param = spec::Offload::kCpu;
    spec::Machine machine;
    machine.gpus_per_node = 4;
    const program::Program program =
        BuildProgram(plan::ResolvePlan(recipe, LlamaStyle(), machine,
                                       FindFacts("transformers", kVersions).value())
                         .value());
    const double shard = kParameters * 2 / 4;
    EXPECT_EQ(net(program, Phase::kLoad, Place::kGpu), 0);
    EXPECT_NEAR(net(program, Phase::kLoad, Place::kPinned), shard, shard / 1000);
    EXPECT_EQ(net(program, Phase::kFirstStep, Place::kGpu), 0);
    EXPECT_NEAR(net(program, Phase::kFirstStep, Place::kHost), 2 * shard, shard / 1000);
    EXPECT_EQ(net(program, Phase::kSteadyStep, Place::kHost), 0);
    const double gradients = sharding == spec::Sharding::kFsdp1 ? shard : 0;
    EXPECT_NEAR(net(program, Phase::kInit, Place::kPinned), gradients, shard / 1000);
  }
}

TEST(Fsdp, OffloadIsOfEverythingAndForTorchsOptimizers) {
  const auto resolves = [](auto change) {
    spec::Recipe recipe = RecipeOf(Method::kFull, Precision::kBf16Pure, 512);
    recipe.sharding = spec::Sharding::kFsdp1;
    recipe.zero.offload_param = spec::Offload::kCpu;
    change(recipe);
    spec::Machine machine;
    machine.gpus_per_node = 4;
    return plan::ResolvePlan(recipe, LlamaStyle(), machine,
                             FindFacts("transformers", kVersions).value())
        .has_value();
  };
  EXPECT_TRUE(resolves([](spec::Recipe&) {}));
  EXPECT_FALSE(resolves([](spec::Recipe& r) { r.zero.offload_param = spec::Offload::kNvme; }));
  EXPECT_FALSE(resolves([](spec::Recipe& r) { r.optimizer = spec::Optimizer::kAdamW8bit; }));
  EXPECT_FALSE(resolves([](spec::Recipe& r) {
    r.zero.offload_param.reset();
    r.zero.offload_optimizer = spec::Offload::kCpu;
  }));
}

}  // namespace
}  // namespace trainfit::frameworks::huggingface
