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
    {"aquila", BuildLlama},
    {"cohere", BuildCohere},
    {"cohere2", BuildCohere},
    {"gemma", BuildGemma},
    {"gemma2", BuildGemma2},
    {"gemma3_text", BuildGemma3Text},
    {"glm", BuildGlm},
    {"glm4", BuildGlm4},
    {"granite", BuildLlama},
    {"internlm", BuildInternLm},
    {"internlm3", BuildLlama},
    {"llama", BuildLlama},
    {"minicpm", BuildLlama},
    {"mistral", BuildMistral},
    {"mixtral", BuildMixtral},
    {"olmo", BuildOlmo},
    {"olmo2", BuildOlmo2},
    {"olmo3", BuildOlmo2},
    {"phi3", BuildPhi3},
    {"qwen2", BuildQwen2},
    {"qwen2_moe", BuildQwen2Moe},
    {"qwen3", BuildQwen3},
    {"qwen3_moe", BuildQwen3Moe},
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
