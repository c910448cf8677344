#include "readers/class_defaults.h"

#include <algorithm>
#include <iterator>

namespace trainfit::readers {
namespace {

// Read from configuration_<model type>.py of transformers 4.57.1, those that came later or are
// checked by tests/oracle/architectures from 5.24.0. Sorted by model type.
// type, class, vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, positions, tied
constexpr ClassDefaults kRows[] = {
    {"apertus", "ApertusConfig", 131072, 4096, 14336, 32, 32, 0, 0, 65536, false},
    {"arcee", "ArceeConfig", 32000, 2560, 18432, 32, 32, 0, 0, 4096, false},
    {"bamba", "BambaConfig", 128000, 4096, 14336, 32, 32, 8, 0, 262144, false},
    {"bitnet", "BitNetConfig", 128256, 2560, 6912, 30, 20, 5, 0, 2048, false},
    {"bloom", "BloomConfig", 250880, 64, 0, 2, 8, 0, 0, 0, true},
    {"codegen", "CodeGenConfig", 50400, 4096, 0, 28, 16, 0, 0, 2048, false},
    {"cohere", "CohereConfig", 256000, 8192, 22528, 40, 64, 0, 0, 8192, true},
    {"cohere2", "Cohere2Config", 256000, 8192, 22528, 40, 64, 0, 0, 8192, true},
    {"cwm", "CwmConfig", 128256, 6144, 21504, 64, 48, 8, 128, 131072, false},
    {"dbrx", "DbrxConfig", 32000, 2048, 0, 24, 16, 0, 0, 2048, true},
    {"deepseek_v2", "DeepseekV2Config", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"deepseek_v3", "DeepseekV3Config", 129280, 7168, 18432, 61, 128, 128, 0, 4096, false},
    {"ernie4_5", "Ernie4_5Config", 103424, 1024, 3072, 18, 16, 2, 128, 131072, true},
    {"ernie4_5_moe", "Ernie4_5_MoeConfig", 103424, 2560, 12288, 28, 20, 4, 0, 131072, true},
    {"exaone4", "Exaone4Config", 102400, 4096, 16384, 32, 32, 32, 0, 2048, false},
    {"falcon", "FalconConfig", 65024, 4544, 0, 32, 71, 0, 0, 2048, true},
    {"falcon_h1", "FalconH1Config", 128000, 4096, 14336, 32, 32, 8, 0, 8192, false},
    {"falcon_mamba", "FalconMambaConfig", 50280, 768, 0, 32, 0, 0, 0, 0, true},
    {"flex_olmo", "FlexOlmoConfig", 100352, 4096, 11008, 32, 32, 0, 0, 4096, false},
    {"gemma", "GemmaConfig", 256000, 3072, 24576, 28, 16, 16, 256, 8192, true},
    {"gemma2", "Gemma2Config", 256000, 2304, 9216, 26, 8, 4, 256, 8192, true},
    {"gemma3_text", "Gemma3TextConfig", 262208, 2304, 9216, 26, 8, 4, 256, 131072, true},
    {"gemma3n_text", "Gemma3nTextConfig", 262400, 2048, 0, 35, 8, 2, 256, 32768, true},
    {"gemma4_text", "Gemma4TextConfig", 262144, 2304, 9216, 30, 8, 4, 256, 131072, true},
    {"glm", "GlmConfig", 151552, 4096, 13696, 40, 32, 2, 128, 131072, false},
    {"glm4", "Glm4Config", 151552, 4096, 13696, 40, 32, 2, 128, 131072, false},
    {"glm4_moe", "Glm4MoeConfig", 151552, 4096, 10944, 46, 96, 8, 0, 131072, false},
    {"glm4_moe_lite", "Glm4MoeLiteConfig", 154880, 2048, 10240, 47, 20, 0, 0, 202752, false},
    {"gpt2", "GPT2Config", 50257, 768, 0, 12, 12, 0, 0, 1024, true},
    {"gpt_bigcode", "GPTBigCodeConfig", 50257, 768, 0, 12, 12, 0, 0, 1024, true},
    {"gpt_neo", "GPTNeoConfig", 50257, 2048, 0, 24, 16, 0, 0, 2048, true},
    {"gpt_neox", "GPTNeoXConfig", 50432, 6144, 24576, 44, 64, 0, 0, 2048, false},
    {"gpt_oss", "GptOssConfig", 201088, 2880, 2880, 36, 64, 8, 64, 131072, false},
    {"gptj", "GPTJConfig", 50400, 4096, 0, 28, 16, 0, 0, 2048, false},
    {"granite", "GraniteConfig", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"granitemoe", "GraniteMoeConfig", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"granitemoehybrid", "GraniteMoeHybridConfig", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"granitemoeshared", "GraniteMoeSharedConfig", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"helium", "HeliumConfig", 48000, 2560, 7040, 24, 20, 20, 128, 4096, false},
    {"hunyuan_v1_dense", "HunYuanDenseV1Config", 290943, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"hunyuan_v1_moe", "HunYuanMoEV1Config", 290943, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"internlm3", "InternLM3Config", 128512, 4096, 10240, 48, 32, 2, 128, 32768, false},
    {"jamba", "JambaConfig", 65536, 4096, 14336, 32, 32, 8, 0, 262144, false},
    {"llama", "LlamaConfig", 32000, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"llama4_text", "Llama4TextConfig", 202048, 5120, 8192, 48, 40, 8, 128, 0, false},
    {"longcat_flash", "LongcatFlashConfig", 131072, 6144, 0, 56, 64, 0, 64, 131072, false},
    {"mamba", "MambaConfig", 50280, 768, 0, 32, 0, 0, 0, 0, true},
    {"mamba2", "Mamba2Config", 32768, 4096, 0, 64, 128, 0, 64, 0, false},
    {"minimax", "MiniMaxConfig", 32000, 4096, 14336, 32, 32, 8, 0, 131072, false},
    {"minimax_m2", "MiniMaxM2Config", 200064, 3072, 1536, 62, 48, 8, 128, 196608, false},
    {"ministral", "MinistralConfig", 32000, 4096, 14336, 32, 32, 8, 0, 0, false},
    {"ministral3", "Ministral3Config", 131072, 4096, 14336, 34, 32, 8, 128, 262144, false},
    {"mistral", "MistralConfig", 32000, 4096, 14336, 32, 32, 8, 0, 0, false},
    {"mixtral", "MixtralConfig", 32000, 4096, 14336, 32, 32, 8, 0, 0, false},
    {"mllama_text_model", "MllamaTextConfig", 128256, 4096, 14336, 40, 32, 8, 0, 131072, false},
    {"mpt", "MptConfig", 50368, 2048, 0, 24, 16, 0, 0, 2048, true},
    {"nemotron", "NemotronConfig", 256000, 6144, 24576, 32, 48, 0, 0, 4096, false},
    {"nemotron_h", "NemotronHConfig", 131072, 4096, 21504, 0, 32, 8, 128, 4096, false},
    {"olmo", "OlmoConfig", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"olmo2", "Olmo2Config", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"olmo3", "Olmo3Config", 50304, 4096, 11008, 32, 32, 0, 0, 2048, false},
    {"olmoe", "OlmoeConfig", 50304, 2048, 2048, 16, 16, 0, 0, 4096, false},
    {"opt", "OPTConfig", 50272, 768, 3072, 12, 12, 0, 0, 2048, true},
    {"persimmon", "PersimmonConfig", 262144, 4096, 16384, 36, 64, 0, 0, 16384, false},
    {"phi", "PhiConfig", 51200, 2048, 8192, 24, 32, 0, 0, 2048, false},
    {"phi3", "Phi3Config", 32064, 3072, 8192, 32, 32, 0, 0, 4096, false},
    {"phimoe", "PhimoeConfig", 32064, 4096, 6400, 32, 32, 8, 0, 0, false},
    {"qwen2", "Qwen2Config", 151936, 4096, 22016, 32, 32, 32, 0, 32768, false},
    {"qwen2_5_vl_text", "Qwen2_5_VLTextConfig", 152064, 8192, 29568, 80, 64, 8, 0, 32768, false},
    {"qwen2_moe", "Qwen2MoeConfig", 151936, 2048, 5632, 24, 16, 16, 0, 32768, false},
    {"qwen2_vl_text", "Qwen2VLTextConfig", 152064, 8192, 29568, 80, 64, 8, 0, 32768, false},
    {"qwen3", "Qwen3Config", 151936, 4096, 22016, 32, 32, 32, 128, 32768, false},
    {"qwen3_5_moe_text", "Qwen3_5MoeTextConfig", 248320, 2048, 0, 40, 16, 2, 256, 32768, false},
    {"qwen3_5_text", "Qwen3_5TextConfig", 248320, 4096, 12288, 32, 16, 4, 256, 32768, false},
    {"qwen3_moe", "Qwen3MoeConfig", 151936, 2048, 6144, 24, 32, 4, 0, 32768, false},
    {"qwen3_next", "Qwen3NextConfig", 151936, 2048, 5632, 48, 16, 2, 256, 32768, false},
    {"qwen3_vl_moe_text", "Qwen3VLMoeTextConfig", 151936, 2048, 5632, 24, 16, 16, 0, 128000, false},
    {"qwen3_vl_text", "Qwen3VLTextConfig", 151936, 4096, 22016, 32, 32, 32, 128, 128000, false},
    {"rwkv", "RwkvConfig", 50277, 4096, 0, 32, 0, 0, 0, 0, false},
    {"seed_oss", "SeedOssConfig", 155136, 4096, 27648, 64, 80, 8, 128, 524288, false},
    {"smollm3", "SmolLM3Config", 128256, 2048, 11008, 36, 16, 4, 0, 32768, true},
    {"stablelm", "StableLmConfig", 50304, 2560, 6912, 32, 32, 32, 0, 4096, false},
    {"starcoder2", "Starcoder2Config", 49152, 3072, 12288, 30, 24, 2, 0, 4096, true},
    {"vaultgemma", "VaultGemmaConfig", 256000, 2304, 9216, 26, 8, 4, 256, 8192, true},
    {"zamba2", "Zamba2Config", 32000, 2560, 10240, 54, 32, 0, 0, 4096, true},
};

constexpr ClassDefaults kNothing = {};

static_assert(std::ranges::is_sorted(kRows, {}, &ClassDefaults::model_type));

}  // namespace

const ClassDefaults& DefaultsOf(std::string_view model_type) {
  const auto* row = std::ranges::lower_bound(kRows, model_type, {}, &ClassDefaults::model_type);
  return row != std::end(kRows) && row->model_type == model_type ? *row : kNothing;
}

}  // namespace trainfit::readers
