#include "validate/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "config/json_reader.h"
#include "validate/case_of.h"
#include "validate/frameworks_known.h"
#include "validate/render.h"
#include "validate/supported.h"

namespace trainfit::validate {
namespace {

// A LoRA run on one card; each test changes what it is about.
constexpr const char* kLora = R"({
  "id": "lab-lora-1", "kind": "run", "quality": "A", "model": "mistralai/Mistral-7B-v0.1",
  "gpu": "A100-SXM4-80GB", "gpus": 1, "nodes": 1, "framework": "trl",
  "framework_version": "torch 2.4.1, transformers 4.48.1, trl 0.13.0, flash-attn 2.7.3",
  "method": "lora", "lora": {"r": 8, "alpha": 16, "targets": ["q_proj", "v_proj"], "dropout": 0.1},
  "precision": "bf16-mixed", "quant": "none", "optimizer": "adamw",
  "offload": {"optimizer": "none"}, "micro_batch": 2, "grad_accum": 1, "seq_len": 1024,
  "packing": true, "attention": "flash2", "activation_checkpointing": "full", "kernels": "none",
  "settings": {"torch_dtype": "bfloat16", "bf16": true},
  "measured": {"outcome": "fits", "peak_memory_gb": 20.0, "memory_unit": "GB",
               "memory_meaning": "max_allocated", "nvidia_smi_mib": 23000}
})";

std::string With(std::string text, const std::string& before, const std::string& after) {
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

Expected<Record> Read(const std::string& text) {
  auto node = config::ParseJson("record", text);
  if (!node.has_value()) return Fail(std::move(node.error()));
  return ReadRecord(*node);
}

Run RunOf(const std::string& text) {
  Expected<Record> record = Read(text);
  EXPECT_TRUE(record.has_value());
  return record.has_value() ? record->run : Run();
}

Prediction PredictText(const std::string& text) {
  const catalog::Catalog catalog;
  ModelFinder models(catalog);
  return Predict(RunOf(text), catalog, models);
}

TEST(Record, TellsWhatWasRunFromWhatWasMeasured) {
  const Expected<Record> record = Read(kLora);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->run.micro_batch, 2);
  EXPECT_EQ(record->run.lora->targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  ASSERT_TRUE(record->measurement.peak.has_value());
  EXPECT_EQ(record->measurement.peak->bytes, Bytes(20'000'000'000));
  EXPECT_EQ(record->measurement.peak->reading, Reading::kAllocated);
  ASSERT_EQ(record->measurement.others.size(), 1U);
  EXPECT_EQ(record->measurement.others[0].bytes, 23'000 * kMiB);
}

TEST(Record, TakesWhatItsReaderFilledIn) {
  const std::string text = With(kLora, R"("seq_len": 1024,)",
                                R"("inferred": {"seq_len_at_peak": 512, "optimizer": "a guess"},)");
  EXPECT_EQ(RunOf(text).length, 512);
}

TEST(Record, ReadsGibAndAnUnknownMeaningAsNvidiaSmi) {
  std::string text = With(kLora, R"("memory_unit": "GB")", R"("memory_unit": "GiB")");
  text = With(text, R"("max_allocated")", R"("unknown")");
  const Expected<Record> record = Read(text);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->measurement.peak->bytes, 20 * kGiB);
  EXPECT_EQ(record->measurement.peak->reading, Reading::kNvidiaSmi);
}

TEST(Record, SaysWhereAWrongTypeStands) {
  const auto record = Read(With(kLora, R"("micro_batch": 2)", R"("micro_batch": "two")"));
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(record.error().front().span.line, 7);
  EXPECT_NE(record.error().front().message.find("micro_batch"), std::string::npos);
}

TEST(CaseOf, MapsTheWordsOfARecord) {
  const catalog::Catalog catalog;
  ModelFinder models(catalog);
  const auto question = CaseOf(RunOf(kLora), catalog, models);
  ASSERT_TRUE(question.has_value());
  const spec::Recipe& recipe = question->recipe;
  EXPECT_EQ(recipe.method, spec::Method::kLora);
  EXPECT_EQ(recipe.precision, spec::Precision::kBf16Mixed);
  EXPECT_EQ(recipe.load_dtype, spec::Dtype::kBf16);
  EXPECT_EQ(recipe.attention, spec::AttentionImplementation::kFlash2);
  EXPECT_EQ(recipe.checkpointing, spec::Checkpointing::kFull);
  EXPECT_FALSE(recipe.optimizer_loop.has_value());
  EXPECT_EQ(question->machine.gpu.id, "a100-sxm-80");
  EXPECT_EQ(question->facts.stack().Of("trl"), (plan::Version{0, 13, 0}));
  // Not named: the release of its day.
  EXPECT_EQ(question->facts.stack().Of("peft"), (plan::Version{0, 12, 0}));
}

TEST(CaseOf, PureWeightsRunWithoutAutocastOnlyWhenTheSourceSaysSo) {
  const catalog::Catalog catalog;
  ModelFinder models(catalog);
  const std::string pure = With(kLora, "bf16-mixed", "bf16-true");
  auto question = CaseOf(RunOf(pure), catalog, models);
  EXPECT_EQ(question->recipe.precision, spec::Precision::kBf16Mixed);
  question = CaseOf(RunOf(With(pure, R"("bf16": true)", R"("bf16": false)")), catalog, models);
  EXPECT_EQ(question->recipe.precision, spec::Precision::kBf16Pure);
}

struct Refusal {
  const char* before;
  const char* after;
  const char* reason;
};

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, ByName) {
  const Prediction prediction = PredictText(With(kLora, GetParam().before, GetParam().after));
  EXPECT_EQ(prediction.refused, GetParam().reason);
  EXPECT_TRUE(prediction.verdicts.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, Refuses,
    testing::Values(
        Refusal{R"("kind": "run")", R"("kind": "kernel")", "operator not stated"},
        Refusal{R"("kind": "run")", R"("kind": "run", "task": "dpo")", "task dpo"},
        Refusal{R"("framework": "trl")", R"("framework": "nanogpt")",
                "framework nanogpt: no fact rows yet"},
        Refusal{R"("framework": "trl")", R"("framework": "trl+deepspeed")",
                "DeepSpeed: stage 1, 2 or 3 not stated"},
        Refusal{R"("method": "lora")", R"("method": "bone")", "method bone"},
        Refusal{R"("quant": "none")", R"("quant": "hqq-int4")", "quantization hqq-int4"},
        Refusal{R"("nodes": 1)", R"("parallel": {"dp": 1, "tp": 2})", "tensor parallel"},
        Refusal{R"("activation_checkpointing": "full")",
                R"("activation_checkpointing": "selective")", "selective activation checkpointing"},
        Refusal{R"("optimizer": "none"})", R"("optimizer": "cpu"})", "offload of optimizer"},
        Refusal{R"("optimizer": "adamw")", R"("optimizer": "muon")", "optimizer muon"},
        Refusal{"bf16-mixed", "fp8", "precision fp8"},
        Refusal{R"("kernels": "none")", R"("kernels": "unsloth")", "kernels unsloth"},
        Refusal{R"("seq_len": 1024,)", "", "sequence length not stated"},
        Refusal{"mistralai/Mistral-7B-v0.1", "nobody/nothing-9B", "model not in the catalogue"},
        Refusal{"A100-SXM4-80GB", "Abacus 3000", "GPU not stated or not in the catalogue"}));

TEST(Predict, NothingMeasuredReachesAPrediction) {
  const Prediction one = PredictText(kLora);
  const Prediction other = PredictText(With(kLora, "20.0", "99.0"));
  ASSERT_EQ(one.refused, "");
  EXPECT_EQ(one.memory, other.memory);
  EXPECT_GT(one.memory[0].point, 14 * kGB);
  EXPECT_LE(one.memory[0].point, one.memory[1].point);
  EXPECT_LE(one.memory[1].point, one.memory[2].point);
}

TEST(MatchFramework, ReadsAProgramAsTheOneThatItIsLike) {
  for (const std::string_view name : {"nanotron", "InternEvo/InternLM", "nemo"}) {
    const FrameworkMatch match = MatchFramework(name);
    ASSERT_NE(match.known, nullptr) << name;
    EXPECT_TRUE(match.known->splits_models) << name;
  }
  EXPECT_EQ(MatchFramework("torchtitan (FSDP2)").known, MatchFramework("torchtitan").known);
  EXPECT_EQ(MatchFramework("xtuner 0.1 + DeepSpeed").spreader, Spreader::kDeepSpeed);
  EXPECT_NE(MatchFramework("xtuner 0.1 + DeepSpeed").known, nullptr);
  EXPECT_EQ(MatchFramework("a program that nobody knows").known, nullptr);
  EXPECT_EQ(MatchFramework("fsdp").spreader, Spreader::kFsdp1);
  EXPECT_NE(MatchFramework("fsdp").known, nullptr);
}

TEST(ConfigOfSizes, IsGptOrLlamaByWhatTheRecordSays) {
  const auto config = [](const std::string& sizes) {
    const auto node = config::ParseJson("sizes", sizes);
    const Expected<std::string> text = ConfigOfSizes(*node);
    return text.has_value() ? *text : text.error().front().message;
  };
  const std::string sizes = R"("layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100)";
  EXPECT_NE(config("{" + sizes + R"(, "swiglu": false})").find("gpt2"), std::string::npos);
  EXPECT_NE(config("{" + sizes + R"(, "glu": false})").find("gpt2"), std::string::npos);
  EXPECT_NE(config("{" + sizes + R"(, "learned_pos_emb": true})").find("gpt2"), std::string::npos);
  EXPECT_NE(config("{" + sizes + "}").find("llama"), std::string::npos);
  EXPECT_EQ(config("{" + sizes + R"(, "experts": 8})"),
            "model not in the catalogue: mixture of experts");
  EXPECT_EQ(config("{" + sizes + R"(, "num_experts": 8})"),
            "model not in the catalogue: mixture of experts");
  EXPECT_EQ(config("{" + sizes + R"(, "moe": {"experts": 8}})"),
            "model not in the catalogue: mixture of experts");
  EXPECT_EQ(config(R"({"layers": 2})"), "model unknown, and its sizes lack hidden");
}

Row RowOf(double measured_gb, double predicted_gb) {
  Record record;
  record.run.id = "lab-" + std::to_string(measured_gb);
  record.measurement.outcome = Outcome::kFits;
  record.measurement.meaning = "max_allocated";
  record.measurement.peak = Measured{Reading::kAllocated, Bytes(std::llround(measured_gb * 1e9))};
  Prediction prediction;
  const Bytes point(std::llround(predicted_gb * 1e9));
  prediction.memory[0] = {point, point - kGB, point + kGB};
  prediction.fit = verdict::Fit::kFits;
  return MakeRow(std::move(record), std::move(prediction));
}

TEST(Score, SummarizesAbsoluteErrorsAndSignedBias) {
  const std::vector<Row> rows = {RowOf(10, 11), RowOf(10, 8), RowOf(20, 20)};
  const Group all = Summarize(rows);
  EXPECT_EQ(all.errors.count, 3);
  EXPECT_NEAR(all.errors.median, 0.1, 1e-9);
  EXPECT_NEAR(all.errors.mean, 0.1, 1e-9);
  EXPECT_NEAR(all.errors.max, 0.2, 1e-9);
  EXPECT_NEAR(all.errors.p90, 0.18, 1e-9);
  EXPECT_NEAR(all.errors.bias, (0.1 - 0.2) / 3, 1e-9);
  EXPECT_NEAR(all.errors.in_range, 2.0 / 3, 1e-9);
  EXPECT_EQ(Worst(rows, 1), (std::vector<std::size_t>{1}));
  EXPECT_EQ(all.outcomes.fits, 3);
  EXPECT_EQ(Summarize(rows, GroupBy::kSource).front().name, "lab");
}

TEST(Score, AnOutOfMemoryRunHasNoErrorButAVerdict) {
  Record record;
  record.measurement.outcome = Outcome::kOutOfMemory;
  Prediction prediction;
  prediction.fit = verdict::Fit::kFits;
  const Group all = Summarize({MakeRow(std::move(record), std::move(prediction))});
  EXPECT_EQ(all.errors.count, 0);
  EXPECT_EQ(all.outcomes.oom, 1);
  EXPECT_EQ(all.outcomes.oom_missed, 1);
}

TEST(Validate, AFileThatIsNotThereIsAnError) {
  EXPECT_FALSE(Validate({"no/such/file.jsonl"}, catalog::Catalog()).has_value());
}

}  // namespace
}  // namespace trainfit::validate
