// Laws that every program obeys, over real models and all combinations of the choices that exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "catalog/catalog.h"
#include "frameworks/builder.h"
#include "frameworks/registry.h"
#include "memory/peak.h"
#include "plan/plan.h"
#include "program/program.h"
#include "readers/model_config.h"
#include "verdict/judge.h"

namespace trainfit {
namespace {

using program::Place;
using spec::Method;

constexpr const char* kModels[] = {
    "Qwen/Qwen3-0.6B",                   // tied, QK-norm, grouped queries
    "openai-community/gpt2",             // fused QKV, LayerNorm, learned positions, dropout, biases
    "EleutherAI/pythia-160m",            // parallel, partial rotary
    "microsoft/Phi-3-mini-4k-instruct",  // fused gate and up
    "google/gemma-2-2b",                 // post-norms, soft-capped scores, two kinds of layer
    "Qwen/Qwen1.5-MoE-A2.7B",            // routed and shared experts
};

std::shared_ptr<const spec::ModelSpec> Load(const char* id) {
  const catalog::Catalog catalog;
  const auto found = catalog.FindModel(id);
  if (!found.has_value()) return nullptr;
  auto model = readers::ReadModelConfig(found->record.config, id, nullptr);
  return std::make_shared<const spec::ModelSpec>(std::move(model).value());
}

spec::Machine Cards(std::int64_t gpus) {
  spec::Machine machine;
  machine.gpu.id = "test-card";
  machine.gpu.name = "test card";
  machine.gpu.vendor = "NVIDIA";
  machine.gpu.compute_capability = "8.0";
  machine.gpu.memory_usable = Bytes(std::int64_t{80} << 30);
  machine.gpus_per_node = gpus;
  return machine;
}

// Every combination for one model, each with a name.
struct Combination {
  std::string name;
  verdict::Case question;
};

std::vector<Combination> Combinations(const std::shared_ptr<const spec::ModelSpec>& model) {
  std::vector<Combination> all;
  const plan::FactTable facts = frameworks::FindFacts("", "").value();
  for (const Method method : {Method::kFull, Method::kLora, Method::kQlora}) {
    for (const auto checkpointing : {spec::Checkpointing::kNone, spec::Checkpointing::kFull}) {
      for (const auto attention :
           {spec::AttentionImplementation::kEager, spec::AttentionImplementation::kSdpa}) {
        for (const auto loss : {spec::LossKernel::kPlain, spec::LossKernel::kFusedLinear,
                                spec::LossKernel::kChunked}) {
          for (const std::int64_t gpus : {1, 4}) {
            Combination c;
            c.question.model = model;
            c.question.machine = Cards(gpus);
            c.question.facts = facts;
            c.question.recipe.method = method;
            c.question.recipe.checkpointing = checkpointing;
            c.question.recipe.attention = attention;
            c.question.recipe.loss = loss;
            c.question.recipe.micro_batch = 2;
            c.question.recipe.sequence_length = 256;
            c.question.recipe.gradient_accumulation = gpus == 1 ? 3 : 2;
            c.name = model->id + " " + std::string(Name(method)) + " checkpointing " +
                     std::string(Name(checkpointing)) + " " + std::string(Name(attention)) + " " +
                     std::string(Name(loss)) + " on " + std::to_string(gpus);
            all.push_back(std::move(c));
          }
        }
      }
    }
  }
  // The first of each method and checkpointing under ZeRO, with and without offload.
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    const Combination& c = all[i];
    const bool is_first = c.question.machine.gpus_per_node > 1 &&
                          c.question.recipe.attention == spec::AttentionImplementation::kSdpa &&
                          c.question.recipe.loss == spec::LossKernel::kPlain;
    if (!is_first) continue;
    for (const auto stage :
         {spec::Sharding::kZero1, spec::Sharding::kZero2, spec::Sharding::kZero3}) {
      for (const auto offload : {spec::Offload::kNone, spec::Offload::kCpu}) {
        Combination zero = all[i];
        zero.question.recipe.sharding = stage;
        zero.question.recipe.zero.offload_optimizer = offload;
        if (stage == spec::Sharding::kZero3) zero.question.recipe.zero.offload_param = offload;
        zero.name += " " + std::string(Name(stage)) + " offload " + std::string(Name(offload));
        all.push_back(std::move(zero));
      }
    }
  }
  return all;
}

// A failed CHECK names itself.
const bool kHandler = [] {
  SetCheckHandler(
      +[](const std::string& message) { std::fputs((message + "\n").c_str(), stderr); });
  return true;
}();

class ProgramLaws : public testing::TestWithParam<const char*> {};

TEST_P(ProgramLaws, SummaryEqualsWalkAndPartsSumToThePeak) {
  const auto model = Load(GetParam());
  ASSERT_NE(model, nullptr);
  for (const Combination& c : Combinations(model)) {
    const auto plan = plan::ResolvePlan(c.question.recipe, c.question.model, c.question.machine,
                                        c.question.facts);
    ASSERT_TRUE(plan.has_value()) << c.name << ": " << RenderText(plan.error().front());
    const program::Program program = frameworks::BuildProgram(*plan);
    const program::RankProgram& rank = program.ranks.front();
    std::array<memory::PlaceLevels, 16> levels;
    const std::size_t phases = memory::SummarizePhases(rank, {}, levels);
    memory::ReadOptions options;
    options.replay = false;
    const auto walked = memory::ReadPhases(rank, options);
    ASSERT_EQ(phases, walked.size());
    for (std::size_t i = 0; i < phases; ++i) {
      const memory::PlaceReading& gpu = walked[i].at(Place::kGpu);
      ASSERT_EQ(levels[i][static_cast<std::size_t>(Place::kGpu)], gpu.levels)
          << c.name << ", " << Name(walked[i].phase);
      Bytes sum;
      for (const memory::Part& part : gpu.parts) sum += part.bytes;
      ASSERT_EQ(sum, gpu.levels.peak) << c.name << ", " << Name(walked[i].phase);
    }
    // A steady step gives back all that it took.
    for (const memory::PhaseReading& phase : walked) {
      if (phase.phase != program::Phase::kSteadyStep) continue;
      ASSERT_EQ(phase.at(Place::kGpu).levels.start, phase.at(Place::kGpu).levels.end) << c.name;
      ASSERT_EQ(phase.at(Place::kHost).levels.start, phase.at(Place::kHost).levels.end) << c.name;
    }
  }
}

TEST_P(ProgramLaws, MoreTokensNeverNeedLess) {
  const auto model = Load(GetParam());
  ASSERT_NE(model, nullptr);
  const auto peak = [](const verdict::Case& question) {
    return verdict::JudgeQuickly(question).value().gpu.point;
  };
  for (const Combination& c : Combinations(model)) {
    verdict::Case larger = c.question;
    larger.recipe.micro_batch = 4;
    EXPECT_GE(peak(larger), peak(c.question)) << c.name << ", micro-batch";
    // Liger's chunks depend on the number of tokens by powers of two: longer can need a little
    // less.
    if (c.question.recipe.loss == spec::LossKernel::kFusedLinear) continue;
    larger = c.question;
    larger.recipe.sequence_length = 384;
    EXPECT_GE(peak(larger), peak(c.question)) << c.name << ", length";
  }
}

TEST_P(ProgramLaws, PartsOfTheAnswerSumToItsPoint) {
  const auto model = Load(GetParam());
  ASSERT_NE(model, nullptr);
  for (const Combination& c : Combinations(model)) {
    const auto answer = verdict::Judge(c.question);
    ASSERT_TRUE(answer.has_value()) << c.name;
    for (const verdict::PhaseAnswer& phase : answer->phases) {
      for (const verdict::PlaceAnswer& place : phase.ranks.front().places) {
        Bytes sum;
        for (const verdict::PartBytes& part : place.parts) sum += part.bytes;
        EXPECT_EQ(sum, place.bytes.point) << c.name << ", " << Name(phase.phase);
        EXPECT_LE(place.bytes.low, place.bytes.point) << c.name;
        EXPECT_GE(place.bytes.high, place.bytes.point) << c.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ProgramLaws, testing::ValuesIn(kModels), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace trainfit
