#include "validate/labels.h"

#include <algorithm>
#include <array>

namespace trainfit::validate {
namespace {

using Places = std::vector<std::string_view>;

const std::vector<LabelMeaning>& Meanings() {
  static const std::vector<LabelMeaning> meanings = {
      {"train", true, {"init/gpu", "first_step/gpu", "steady_step/gpu"}},
      {"load", false, {"load/gpu"}},
      {"init_or_first_step", false, {"init/gpu", "first_step/gpu"}},
      {"save", false, {"save/gpu", "save/host"}},
      {"eval", false, {"evaluate/gpu", "evaluate/host"}},
      {"resume", false, {"resume/gpu"}},
      {"merge", false, {"merge/gpu", "merge/host"}},
      {"host_ram", false, {"load/host", "init/host", "first_step/host", "steady_step/host"}},
      {"host_load", false, {"load/host"}},
      {"host_save", false, {"save/host"}},
      {"host_resume", false, {"resume/host"}},
      {"disk", false, {"download/disk", "init/disk", "save/disk"}},
      {"preprocess_timeout", false, {}},
      {"save_or_eval_hang", false, {}},
      {"speed", false, {}},
  };
  return meanings;
}

// Any of the places is predicted to need more than there is.
bool IsCalled(const Prediction& prediction, const Places& places) {
  return std::any_of(
      prediction.verdicts.begin(), prediction.verdicts.end(), [&](const PlaceVerdict& verdict) {
        return !verdict.point_fits &&
               std::find(places.begin(), places.end(), verdict.where) != places.end();
      });
}

void Score(const Row& row, const Label& label, ReportScore& score) {
  const LabelMeaning* meaning = MeaningOf(label.key);
  if (meaning == nullptr || meaning->at.empty()) return;
  const bool called = IsCalled(row.prediction, meaning->at);
  if (!row.prediction.refused.empty()) ++score.refused;
  if (!label.fails) {
    if (!meaning->in_step) return;
    ++score.step_ran;
    score.false_alarms += called ? 1 : 0;
  } else if (meaning->in_step) {
    ++score.step_failures;
    score.step_called += called ? 1 : 0;
  } else {
    ++score.other_failures;
    score.other_named += called ? 1 : 0;
  }
}

// "full (LLaMA-Factory default on)" → "full": remarks of the reader.
void DropRemark(std::string& word) { word = word.substr(0, word.find(" (")); }

}  // namespace

const LabelMeaning* MeaningOf(std::string_view key) {
  for (const LabelMeaning& meaning : Meanings()) {
    if (meaning.key == key) return &meaning;
  }
  return nullptr;
}

ReportScore ScoreReports(const std::vector<Row>& rows) {
  ReportScore score;
  for (const Row& row : rows) {
    for (const Label& label : row.record.labels) Score(row, label, score);
  }
  return score;
}

void FillReport(Run& run) {
  constexpr std::int64_t kShort = 512;
  constexpr std::int64_t kRank = 8;  // peft/tuners/lora/config.py
  DropRemark(run.checkpointing);
  DropRemark(run.optimizer);
  DropRemark(run.framework);
  if (run.attention.starts_with("flash")) run.attention = "flash2";
  if (run.checkpointing.empty()) run.checkpointing = "full";
  if (!run.micro_batch) run.micro_batch = 1;
  if (!run.length) run.length = kShort;
  if (run.method == "qlora" && run.quantization.empty()) run.quantization = "nf4";
  if (run.method != "lora" && run.method != "qlora") return;
  if (!run.lora) run.lora.emplace();
  if (!run.lora->rank) run.lora->rank = kRank;
  const std::vector<std::string>& targets = run.lora->targets;
  if (targets.empty() || targets.front() == "all") run.lora->targets = {"all-linear"};
}

}  // namespace trainfit::validate
