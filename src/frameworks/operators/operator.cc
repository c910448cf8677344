#include "frameworks/operators/operator.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

struct Row {
  std::string_view name;
  Operator record = nullptr;
  int cublas_handles = 0;
  std::array<std::string_view, 4> providers = {};
  bool has_compiled_liger = false;
};

constexpr std::array kRows = {
    Row{"swiglu", GatedMlp, 2, {"liger", "huggingface"}},
    Row{"geglu", GatedMlp, 2, {"liger", "huggingface"}},
    Row{"tiled_swiglu", TiledMlp, 2, {"liger", "huggingface", "liger_tiled", "deepspeed_tiled"}},
    Row{"tiled_geglu", TiledMlp, 2, {"liger", "huggingface", "liger_tiled", "deepspeed_tiled"}},
    Row{"rms_norm", RmsNorm, 0, {"liger", "huggingface"}},
    Row{"layer_norm", LayerNorm, 0, {"liger", "huggingface"}},
    Row{"fused_add_rms_norm",
        FusedAddRmsNorm,
        0,
        {"huggingface", "liger_rms_norm", "liger_fused_add_rms_norm"}},
    Row{"megatron_rms_norm", MegatronRmsNorm, 0, {"liger", "torch", "megatron"}},
    // The tables come from a product of frequencies and positions.
    Row{"rope", Rope, 1, {"liger", "huggingface"}},
    Row{"cross_entropy", CrossEntropy, 0, {"liger", "huggingface", "torch"}},
    Row{"fused_linear_cross_entropy",
        FusedLinearCrossEntropy,
        2,
        {"liger", "huggingface", "torch"}},
    Row{"megatron_cross_entropy",
        MegatronCrossEntropy,
        0,
        {"liger", "megatron-fused", "megatron-unfused"}},
    Row{"kl_div", Divergence, 0, {"liger", "torch"}},
    Row{"jsd", Divergence, 0, {"liger", "torch"}},
    Row{"fused_linear_jsd", FusedLinearJsd, 2, {"liger", "torch"}},
    Row{"distill_jsd_loss", DistillationJsd, 2, {"liger", "torch"}, true},
    Row{"fused_linear_orpo_loss", PreferenceLoss, 2, {"liger", "huggingface"}, true},
    Row{"fused_linear_cpo_loss", PreferenceLoss, 2, {"liger", "huggingface"}, true},
    Row{"fused_linear_simpo_loss", PreferenceLoss, 2, {"liger", "huggingface"}, true},
    Row{"fused_linear_grpo_loss_token", GrpoLoss, 2, {"liger", "torch"}},
    Row{"fused_linear_grpo_loss_sequence", GrpoLoss, 2, {"liger", "torch"}},
};

}  // namespace

Expected<OperatorProgram> BuildOperator(const OperatorCase& question) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [&](const Row& r) { return r.name == question.name; });
  if (row == kRows.end()) return Fail(Error("not-simulated", "operator " + question.name));
  const auto& providers = row->providers;
  if (std::find(providers.begin(), providers.end(), question.provider) == providers.end()) {
    return Fail(
        Error("not-simulated", "operator " + question.name + " of provider " + question.provider));
  }
  Bench bench(question);
  row->record(bench);
  if (!bench.missing().empty()) {
    return Fail(Error("no-size", "operator " + question.name + ": no size " + bench.missing()));
  }
  bench.tape().Cut();
  OperatorProgram built;
  built.cublas_handles = row->cublas_handles;
  built.is_compiled = row->has_compiled_liger && question.provider == "liger";
  program::RankProgram rank;
  rank.phases.push_back(
      {program::Phase::kSteadyStep, bench.tape().Finish(*built.program.store).front()});
  built.program.ranks.push_back(std::move(rank));
  return built;
}

}  // namespace trainfit::frameworks::operators
