#include "frameworks/litgpt/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::litgpt {
namespace {

using plan::Fact;
using plan::FactRow;

// What differs from the Hugging Face stack.
constexpr std::array kRows = {
    FactRow{Fact::kCheckpointingDefault, "litgpt", kAny, kAny, ValueOf(spec::Checkpointing::kNone),
            "activation checkpointing", Basis::kSource,
            "litgpt/finetune/*.py: activation_checkpointing_policy under FSDP alone"},
    FactRow{Fact::kCheckpointReentrant, "litgpt", kAny, kAny, 0, "reentrant checkpointing",
            Basis::kSource,
            "lightning/fabric/strategies/fsdp.py _setup_activation_checkpointing: NO_REENTRANT"},
    FactRow{Fact::kCheckpointInsideUnit, "litgpt", kAny, kAny, 1, "checkpointing inside FSDP units",
            Basis::kSource,
            "lightning/fabric/strategies/fsdp.py setup_module: checkpoint_wrapper after FSDP"},
    FactRow{Fact::kLossPath, "litgpt", kAny, kAny, ValueOf(plan::LossPath::kModelDtype),
            "loss path", Basis::kSource, "litgpt/utils.py chunked_cross_entropy: no upcast"},
    FactRow{Fact::kLossKernelDefault, "litgpt", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "loss", Basis::kSource, "litgpt/utils.py chunked_cross_entropy"},
    FactRow{Fact::kLossChunkTokens, "litgpt", kAny, kAny, 128, "tokens of a loss chunk",
            Basis::kSource, "litgpt/finetune/*.py: lm_head_chunk_size=128, chunk_size=128"},
    FactRow{Fact::kOutputsToFp32, "litgpt", kAny, kAny, 0, "outputs copied to fp32", Basis::kSource,
            "litgpt/finetune/*.py fit"},
    FactRow{Fact::kQuantizesHead, "litgpt", kAny, kAny, 1, "4-bit output head", Basis::kSource,
            "lightning/fabric/plugins/precision/bitsandbytes.py convert_module: every nn.Linear"},
    FactRow{Fact::kOutputsHeld, "litgpt", kAny, kAny, 1, "logits held in backward", Basis::kSource,
            "litgpt/finetune/*.py fit: the variable logits lives until the next iteration"},
    FactRow{Fact::kOptimizerLoopDefault, "litgpt", kAny, kAny,
            ValueOf(spec::OptimizerLoop::kForeach), "optimizer loop", Basis::kSource,
            "torch/optim/adamw.py: foreach on CUDA"},
    FactRow{Fact::kAdapterDtypeFp32, "litgpt", kAny, kAny, 0, "adapters in fp32", Basis::kSource,
            "litgpt/lora.py: parameters in the dtype of the run"},
    FactRow{Fact::kKbitPreparation, "litgpt", kAny, kAny, 0, "k-bit preparation", Basis::kSource,
            "litgpt/finetune/lora.py"},
    FactRow{Fact::kQloraAdapterBf16, "litgpt", kAny, kAny, 1, "QLoRA adapters in bf16",
            Basis::kSource, "litgpt/lora.py: parameters in the dtype of the run"},
    FactRow{Fact::kAttentionDefault, "litgpt", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kSdpa), "attention", Basis::kSource,
            "litgpt/model.py scaled_dot_product_attention"},
    FactRow{Fact::kSdpaGroupedQuery, "litgpt", kAny, kAny, 0, "grouped queries in SDPA",
            Basis::kSource, "litgpt/model.py CausalSelfAttention.forward: k and v are expanded"},
    FactRow{Fact::kEmbedding32bitStates, "litgpt", kAny, kAny, 0,
            "32-bit optimizer states for embeddings", Basis::kSource,
            "litgpt/utils.py instantiate_bnb_optimizer"},
    FactRow{Fact::kAutocast, "litgpt", kAny, kAny, 1, "autocast", Basis::kSource,
            "lightning/fabric/plugins/precision/amp.py, for mixed precision"},
    FactRow{Fact::kAdapterUnits, "litgpt", kAny, kAny, 0, "FSDP units of adapters", Basis::kSource,
            "litgpt/finetune/lora.py: auto_wrap_policy={Block}, use_orig_params=True"},
    FactRow{Fact::kUpcastTrainedShards, "litgpt", kAny, kAny, 0, "sharded weights", Basis::kSource,
            "lightning/fabric/plugins/precision/fsdp.py"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

plan::Stack CurrentStack() {
  return {"litgpt", {{"litgpt", {0, 5, 7}}, {"torch", {2, 5, 0}}, {"bitsandbytes", {0, 42, 0}}}};
}

}  // namespace trainfit::frameworks::litgpt
