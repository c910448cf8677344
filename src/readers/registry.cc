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
    {"UNet2DConditionModel", BuildUnet},
    {"albert", BuildAlbert},
    {"apertus", BuildApertus},
    {"aquila", BuildLlama},
    {"arcee", BuildArcee},
    {"baichuan", BuildBaichuan},
    {"bamba", BuildBamba},
    {"bart", BuildBart},
    {"bert", BuildBert},
    {"bitnet", BuildBitNet},
    {"bloom", BuildBloom},
    {"camembert", BuildRoberta},
    {"chatglm", BuildChatGlm},
    {"clip", BuildClip},
    {"clip_vision_model", BuildClipVision},
    {"codegen", BuildCodeGen},
    {"cohere", BuildCohere},
    {"cohere2", BuildCohere},
    {"cwm", BuildLlama},
    {"dbrx", BuildDbrx},
    {"deberta-v2", BuildDebertaV2},
    {"deci", BuildDeciLm},
    {"deepseek", BuildDeepseek},
    {"deepseek_v2", BuildDeepseekV2},
    {"deepseek_v3", BuildDeepseekV3},
    {"deepseek_v32", BuildIndexedLatent},
    {"distilbert", BuildDistilBert},
    {"dots1", BuildDots1},
    {"electra", BuildElectra},
    {"ernie4_5", BuildErnie45},
    {"ernie4_5_moe", BuildErnie45Moe},
    {"exaone4", BuildExaone4},
    {"falcon", BuildFalcon},
    {"falcon_h1", BuildFalconH1},
    {"falcon_mamba", BuildMamba},
    {"flex_olmo", BuildFlexOlmo},
    {"gemma", BuildGemma},
    {"gemma2", BuildGemma2},
    {"gemma3", BuildGemma3},
    {"gemma3_text", BuildGemma3Text},
    {"gemma3n", BuildGemma3n},
    {"gemma3n_text", BuildGemma3nText},
    {"gemma4", BuildGemma4},
    {"gemma4_text", BuildGemma4Text},
    {"glm", BuildGlm},
    {"glm4", BuildGlm4},
    {"glm4_moe", BuildGlm4Moe},
    {"glm4_moe_lite", BuildGlm4MoeLite},
    {"glm_moe_dsa", BuildIndexedLatent},
    {"gpt2", BuildGpt2},
    {"gpt_bigcode", BuildGptBigCode},
    {"gpt_neo", BuildGptNeo},
    {"gpt_neox", BuildGptNeox},
    {"gpt_oss", BuildGptOss},
    {"gptj", BuildGptJ},
    {"granite", BuildLlama},
    {"granitemoe", BuildGraniteMoe},
    {"granitemoehybrid", BuildGraniteMoeHybrid},
    {"granitemoeshared", BuildGraniteMoeShared},
    {"grok-1", BuildGrok1},
    {"helium", BuildHelium},
    {"hunyuan_v1_dense", BuildHunyuanDense},
    {"hunyuan_v1_moe", BuildHunyuanMoe},
    {"idefics3", BuildIdefics3},
    {"internlm", BuildInternLm},
    {"internlm2", BuildInternLm2},
    {"internlm3", BuildLlama},
    {"internvl", BuildInternVl},
    {"jamba", BuildJamba},
    {"kimi_k2", BuildDeepseekV3},
    {"llama", BuildLlama},
    {"llama4", BuildLlama4},
    {"llama4_text", BuildLlama4Text},
    {"llava", BuildLlava},
    {"llava_next", BuildLlava},
    {"longcat_flash", BuildLongcatFlash},
    {"m2m_100", BuildM2m100},
    {"mamba", BuildMamba},
    {"mamba2", BuildMamba2},
    {"marian", BuildMarian},
    {"mbart", BuildMbart},
    {"mimo", BuildMimo},
    {"minicpm", BuildLlama},
    {"minimax", BuildMiniMax},
    {"minimax_m2", BuildMiniMaxM2},
    {"ministral", BuildMinistral},
    {"ministral3", BuildMinistral3},
    {"mistral", BuildMistral},
    {"mistral3", BuildMistral3},
    {"mixtral", BuildMixtral},
    {"mllama", BuildMllama},
    {"mllama_text_model", BuildMllamaText},
    {"modernbert", BuildModernBert},
    {"mpt", BuildMpt},
    {"mt5", BuildT5},
    {"nemotron", BuildNemotron},
    {"nemotron-nas", BuildDeciLm},
    {"nemotron_h", BuildNemotronH},
    {"olmo", BuildOlmo},
    {"olmo2", BuildOlmo2},
    {"olmo3", BuildOlmo2},
    {"olmoe", BuildOlmoe},
    {"opt", BuildOpt},
    {"paligemma", BuildPaliGemma},
    {"pegasus", BuildPegasus},
    {"phi", BuildPhi},
    {"phi-msft", BuildPhi},
    {"phi3", BuildPhi3},
    {"phimoe", BuildPhiMoe},
    {"qwen", BuildQwen1},
    {"qwen2", BuildQwen2},
    {"qwen2_5_vl", BuildQwen25Vl},
    {"qwen2_5_vl_text", BuildQwen2},
    {"qwen2_moe", BuildQwen2Moe},
    {"qwen2_vl", BuildQwen2Vl},
    {"qwen2_vl_text", BuildQwen2},
    {"qwen3", BuildQwen3},
    {"qwen3_5", BuildQwen3Vl},
    {"qwen3_5_moe", BuildQwen3Vl},
    {"qwen3_5_moe_text", BuildQwen35MoeText},
    {"qwen3_5_text", BuildQwen35Text},
    {"qwen3_moe", BuildQwen3Moe},
    {"qwen3_next", BuildQwen3Next},
    {"qwen3_vl", BuildQwen3Vl},
    {"qwen3_vl_moe", BuildQwen3Vl},
    {"qwen3_vl_moe_text", BuildQwen3VlMoeText},
    {"qwen3_vl_text", BuildQwen3},
    {"roberta", BuildRoberta},
    {"rwkv", BuildRwkv},
    {"seed_oss", BuildSeedOss},
    {"siglip", BuildSiglip},
    {"siglip_vision_model", BuildSiglipVision},
    {"smollm3", BuildSmolLm3},
    {"smolvlm", BuildIdefics3},
    {"stablelm", BuildStableLm},
    {"starcoder2", BuildStarcoder2},
    {"t5", BuildT5},
    {"umt5", BuildT5},
    {"vaultgemma", BuildVaultGemma},
    {"vit", BuildVit},
    {"whisper", BuildWhisper},
    {"xlm-roberta", BuildRoberta},
    {"zamba2", BuildZamba2},
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
