#include "frameworks/huggingface/model_facts.h"

#include <array>
#include <string_view>

namespace trainfit::frameworks::huggingface {
namespace {

struct ModelRow {
  std::string_view model_type;
  plan::Version until;  // exclusive, of transformers
};

// transformers 4.45 models/*/modeling_*.py, class *FlashAttention2: repeat_kv before
// _flash_attention_forward. Not so in Llama, Gemma, Granite, Cohere, OLMo and StableLM. 4.48 gave
// all of them one attention interface, which repeats for eager and SDPA alone.
constexpr std::array kFlashRepeats = {
    ModelRow{"mistral", {4, 48, 0}}, ModelRow{"qwen2", {4, 48, 0}},
    ModelRow{"phi3", {4, 48, 0}},    ModelRow{"starcoder2", {4, 48, 0}},
    ModelRow{"mixtral", {4, 48, 0}},
};

}  // namespace

bool FlashRepeatsKeys(const plan::Plan& plan) {
  const plan::Version version = plan.facts.stack().Of("transformers");
  for (const ModelRow& row : kFlashRepeats) {
    if (row.model_type == plan.model->model_type) return version < row.until;
  }
  return false;
}

}  // namespace trainfit::frameworks::huggingface
