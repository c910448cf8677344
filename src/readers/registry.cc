#include "readers/registry.h"

#include <algorithm>
#include <iterator>

#include "readers/models/builders.h"

namespace trainfit::readers {
namespace {

struct Row {
  std::string_view model_type;
  Builder build;
};

// Sorted by model type.
constexpr Row kRows[] = {
    {"RefinedWeb", BuildFalcon},
    {"RefinedWebModel", BuildFalcon},
    {"aquila", BuildLlama},
    {"baichuan", BuildBaichuan},
    {"bloom", BuildBloom},
    {"chatglm", BuildChatGlm},
    {"codegen", BuildCodeGen},
    {"cohere", BuildCohere},
    {"cohere2", BuildCohere},
    {"dbrx", BuildDbrx},
    {"deepseek", BuildDeepseek},
    {"deepseek_v2", BuildDeepseekV2},
    {"deepseek_v3", BuildDeepseekV3},
    {"falcon", BuildFalcon},
    {"falcon_mamba", BuildMamba},
    {"gemma", BuildGemma},
    {"gemma2", BuildGemma2},
    {"gemma3_text", BuildGemma3Text},
    {"glm", BuildGlm},
    {"glm4", BuildGlm4},
    {"glm4_moe", BuildGlm4Moe},
    {"gpt2", BuildGpt2},
    {"gpt_bigcode", BuildGptBigCode},
    {"gpt_neo", BuildGptNeo},
    {"gpt_neox", BuildGptNeox},
    {"gpt_oss", BuildGptOss},
    {"gptj", BuildGptJ},
    {"granite", BuildLlama},
    {"granitemoe", BuildGraniteMoe},
    {"grok-1", BuildGrok1},
    {"internlm", BuildInternLm},
    {"internlm2", BuildInternLm2},
    {"internlm3", BuildLlama},
    {"jamba", BuildJamba},
    {"kimi_k2", BuildDeepseekV3},
    {"llama", BuildLlama},
    {"llama4_text", BuildLlama4Text},
    {"longcat_flash", BuildLongcatFlash},
    {"mamba", BuildMamba},
    {"mamba2", BuildMamba2},
    {"minicpm", BuildLlama},
    {"minimax_m2", BuildMiniMaxM2},
    {"mistral", BuildMistral},
    {"mixtral", BuildMixtral},
    {"mpt", BuildMpt},
    {"nemotron", BuildNemotron},
    {"nemotron_h", BuildNemotronH},
    {"olmo", BuildOlmo},
    {"olmo2", BuildOlmo2},
    {"olmo3", BuildOlmo2},
    {"olmoe", BuildOlmoe},
    {"opt", BuildOpt},
    {"phi", BuildPhi},
    {"phi-msft", BuildPhi},
    {"phi3", BuildPhi3},
    {"phimoe", BuildPhiMoe},
    {"qwen", BuildQwen1},
    {"qwen2", BuildQwen2},
    {"qwen2_moe", BuildQwen2Moe},
    {"qwen3", BuildQwen3},
    {"qwen3_5_moe_text", BuildQwen35MoeText},
    {"qwen3_5_text", BuildQwen35Text},
    {"qwen3_moe", BuildQwen3Moe},
    {"qwen3_next", BuildQwen3Next},
    {"rwkv", BuildRwkv},
    {"smollm3", BuildSmolLm3},
    {"stablelm", BuildStableLm},
    {"starcoder2", BuildStarcoder2},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::model_type));

}  // namespace

Builder FindBuilder(std::string_view model_type) {
  const Row* row = std::ranges::lower_bound(kRows, model_type, {}, &Row::model_type);
  return row != std::end(kRows) && row->model_type == model_type ? row->build : nullptr;
}

std::vector<std::string> KnownModelTypes() {
  std::vector<std::string> types;
  types.reserve(std::size(kRows));
  for (const Row& row : kRows) types.emplace_back(row.model_type);
  return types;
}

}  // namespace trainfit::readers
