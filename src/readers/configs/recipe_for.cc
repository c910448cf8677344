#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "readers/configs/reading.h"

namespace trainfit::readers {
namespace {

struct TargetRow {
  std::string_view model_type;
  std::string_view targets;  // separated by spaces
};

// peft 0.21.2 peft/utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING: of the
// decoders that are simulated.
constexpr std::array kPeftTargets = std::to_array<TargetRow>({
    {"gpt2", "c_attn"},
    {"bloom", "query_key_value"},
    {"opt", "q_proj v_proj"},
    {"gptj", "q_proj v_proj"},
    {"gpt_neox", "query_key_value"},
    {"gpt_neo", "q_proj v_proj"},
    {"llama", "q_proj v_proj"},
    {"llama4", "q_proj v_proj"},
    {"chatglm", "query_key_value"},
    {"gpt_bigcode", "c_attn"},
    {"mpt", "Wqkv"},
    {"falcon", "query_key_value"},
    {"codegen", "qkv_proj"},
    {"mistral", "q_proj v_proj"},
    {"mixtral", "q_proj v_proj"},
    {"stablelm", "q_proj v_proj"},
    {"phi", "q_proj v_proj fc1 fc2"},
    {"gemma", "q_proj v_proj"},
    {"gemma2", "q_proj v_proj"},
    {"gemma3_text", "q_proj v_proj"},
    {"qwen2", "q_proj v_proj"},
    {"qwen3", "q_proj v_proj"},
    {"nemotron_h", "q_proj k_proj v_proj o_proj"},
});

std::vector<std::string> PeftTargets(std::string_view model_type) {
  std::vector<std::string> names;
  for (const TargetRow& row : kPeftTargets) {
    if (row.model_type != model_type) continue;
    std::string_view rest = row.targets;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      names.emplace_back(rest.substr(0, space));
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
  }
  return names;
}

}  // namespace

Expected<spec::Recipe> RecipeFor(const ConfigReading& reading, const spec::ModelSpec& model,
                                 std::int64_t gpus) {
  spec::Recipe recipe = reading.recipe;
  if (reading.load_as_stored) {
    recipe.load_dtype = model.checkpoint_dtype;
    if (!recipe.precision) {
      recipe.precision = model.checkpoint_dtype == spec::Dtype::kBf16   ? spec::Precision::kBf16Pure
                         : model.checkpoint_dtype == spec::Dtype::kFp16 ? spec::Precision::kFp16Pure
                                                                        : spec::Precision::kFp32;
    }
  }
  if (reading.has_default_targets && recipe.lora) {
    recipe.lora->targets = PeftTargets(model.model_type);
    if (recipe.lora->targets.empty()) {
      return Fail(Error(
          "no-lora-target",
          "the files name no LoRA targets, and PEFT has none for model type " + model.model_type,
          "lora_target_modules: all-linear"));
    }
  }
  // What is accumulated follows from the batch of all, as every trainer computes it.
  if (reading.global_batch && *reading.global_batch > 0 && !recipe.gradient_accumulation) {
    const spec::Parallelism split = recipe.parallelism.value_or(spec::Parallelism());
    const std::int64_t ranks =
        std::max<std::int64_t>(1, split.tensor * split.pipeline * split.context);
    const std::int64_t at_once = std::max<std::int64_t>(1, recipe.micro_batch.value_or(1)) *
                                 std::max<std::int64_t>(1, gpus / ranks);
    recipe.gradient_accumulation = std::max<std::int64_t>(1, *reading.global_batch / at_once);
  }
  // A distributed launch of a trainer that was told of no sharding: DistributedDataParallel.
  if (!recipe.sharding && gpus > 1) recipe.sharding = spec::Sharding::kDdp;
  return recipe;
}

}  // namespace trainfit::readers
