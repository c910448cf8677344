#include "validate/predict_operator.h"

#include <array>
#include <string_view>

#include "frameworks/operators/operator.h"
#include "memory/overhead.h"
#include "memory/peak.h"
#include "memory/range.h"

namespace trainfit::validate {
namespace {

using config::Node;
using frameworks::operators::OperatorCase;

constexpr std::string_view kModelPrefix = "kernel:";

std::string Setting(const Run& run, std::string_view key) {
  const Node* node = run.settings.Find(key);
  return node != nullptr ? node->text : std::string();
}

Prediction Refused(std::string reason) {
  Prediction prediction;
  prediction.refused = std::move(reason);
  return prediction;
}

Expected<OperatorCase> CaseOf(const Run& run) {
  OperatorCase question;
  if (!run.model.starts_with(kModelPrefix)) return Fail(Error("operator", "operator not stated"));
  question.name = run.model.substr(kModelPrefix.size());
  question.provider = Setting(run, "provider");
  const std::size_t digit = run.framework_version.find_first_of("0123456789");
  if (digit != std::string::npos) {
    question.liger = plan::ParseVersion(std::string_view(run.framework_version).substr(digit));
  }
  if (Setting(run, "dtype").ends_with("float32")) question.dtype = spec::Dtype::kFp32;
  if (Setting(run, "dtype").ends_with("float16")) question.dtype = spec::Dtype::kFp16;
  if (Setting(run, "dtype").ends_with("bfloat16")) question.dtype = spec::Dtype::kBf16;
  constexpr double kMostSize = 1e9;
  for (const config::Member& member : run.settings.members) {
    if (!member.value.IsNumber()) continue;
    const double size = member.value.real;
    if (size >= 1 && size < kMostSize) {
      question.sizes.emplace(member.key, static_cast<std::int64_t>(size));
    }
  }
  return question;
}

verdict::Estimate EstimateOf(const memory::Range& range) {
  return {range.point, range.low, range.high};
}

}  // namespace

Prediction PredictOperator(const Run& run, const catalog::Catalog& catalog) {
  Expected<OperatorCase> question = CaseOf(run);
  if (!question.has_value()) return Refused(question.error().front().message);
  const auto card = catalog.FindGpu(run.gpu);
  if (!card.has_value()) return Refused("GPU not stated or not in the catalogue");
  const spec::Gpu& gpu = card->record.gpu;
  question->multiprocessors = gpu.sm_count.value_or(0);
  const auto built = frameworks::operators::BuildOperator(*question);
  if (!built.has_value()) return Refused(built.error().front().message);
  memory::ReadOptions options;
  if (built->cublas_handles > 0) {
    memory::CublasUse use;
    use.handles = built->cublas_handles;
    options.held = memory::CublasWorkspaces(gpu, use);
  }
  const auto readings = memory::ReadPhases(built->program.ranks.front(), options);
  const memory::PhaseReading& reading = readings.front();
  memory::RangeInputs inputs;
  inputs.live_peak = reading.at(program::Place::kGpu).levels.peak;
  if (reading.gpu) {
    inputs.replay_allocated = reading.gpu->allocated_peak;
    inputs.replay_reserved = reading.gpu->reserved_peak;
  }
  const std::array outside = {memory::ContextOf(gpu)};
  inputs.outside = outside;
  inputs.compiled = built->is_compiled;
  const memory::GpuRanges ranges = memory::MakeGpuRanges(inputs);
  Prediction prediction;
  prediction.memory = {EstimateOf(ranges.allocated), EstimateOf(ranges.reserved),
                       EstimateOf(ranges.nvidia_smi)};
  prediction.gpu = gpu.id;
  prediction.phase = program::Name(program::Phase::kSteadyStep);
  return prediction;
}

}  // namespace trainfit::validate
