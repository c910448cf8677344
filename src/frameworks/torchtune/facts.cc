#include "frameworks/torchtune/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::torchtune {
namespace {

using plan::Fact;
using plan::FactRow;

// What differs from the Hugging Face stack.
constexpr std::array kRows = {
    FactRow{Fact::kCheckpointingDefault, "torchtune", kAny, kAny,
            ValueOf(spec::Checkpointing::kFull), "activation checkpointing", Basis::kSource,
            "torchtune recipes/configs: enable_activation_checkpointing"},
    FactRow{Fact::kCheckpointReentrant, "torchtune", kAny, kAny, 0, "reentrant checkpointing",
            Basis::kSource,
            "torchtune/training/activations.py apply_activation_checkpointing wrapper"},
    FactRow{Fact::kCheckpointInsideUnit, "torchtune", kAny, kAny, 1,
            "checkpointing inside FSDP units", Basis::kSource,
            "torchtune/recipes/full_finetune_distributed.py: checkpointing before sharding"},
    FactRow{Fact::kLossPath, "torchtune", kAny, kAny, ValueOf(plan::LossPath::kPaddedLabels),
            "loss path", Basis::kSource,
            "torchtune/modules/loss/ce_chunked_output_loss.py: logits.float()"},
    FactRow{Fact::kLossKernelDefault, "torchtune", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "loss", Basis::kSource, "torchtune/modules/loss/ce_chunked_output_loss.py"},
    FactRow{Fact::kLossChunks, "torchtune", kAny, kAny, 8, "loss chunks", Basis::kSource,
            "torchtune/modules/loss/ce_chunked_output_loss.py: num_output_chunks=8"},
    FactRow{Fact::kOutputsToFp32, "torchtune", kAny, kAny, 0, "outputs copied to fp32",
            Basis::kSource, "torchtune/recipes/full_finetune_distributed.py: del logits"},
    FactRow{Fact::kOptimizerLoopDefault, "torchtune", kAny, kAny,
            ValueOf(spec::OptimizerLoop::kFused), "optimizer loop", Basis::kSource,
            "torchtune recipes/configs: torch.optim.AdamW, fused: True"},
    FactRow{Fact::kAdapterDtypeFp32, "torchtune", kAny, kAny, 0, "adapters in fp32", Basis::kSource,
            "torchtune/modules/peft/lora.py: parameters in the dtype of the run"},
    FactRow{Fact::kKbitPreparation, "torchtune", kAny, kAny, 0, "k-bit preparation", Basis::kSource,
            "torchtune/recipes/lora_finetune_single_device.py"},
    FactRow{Fact::kQloraAdapterBf16, "torchtune", kAny, kAny, 1, "QLoRA adapters in bf16",
            Basis::kSource, "torchtune/modules/peft/lora.py"},
    FactRow{Fact::kAttentionDefault, "torchtune", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kSdpa), "attention", Basis::kSource,
            "torchtune/modules/attention_utils.py _sdpa_or_flex_attention"},
    FactRow{Fact::kSdpaGroupedQuery, "torchtune", kAny, kAny, 0, "grouped queries in SDPA",
            Basis::kSource, "torchtune/modules/attention.py: k and v are expanded"},
    FactRow{Fact::kEmbedding32bitStates, "torchtune", kAny, kAny, 0,
            "32-bit optimizer states for embeddings", Basis::kSource,
            "torchtune/recipes/full_finetune_single_device.py"},
    FactRow{Fact::kAutocast, "torchtune", kAny, kAny, 0, "autocast", Basis::kSource,
            "torchtune/recipes: parameters in the dtype of the run"},
    FactRow{Fact::kRotaryInFp32, "torchtune", kAny, kAny, 1, "rotary embedding in fp32",
            Basis::kSource, "torchtune/modules/position_embeddings.py: x.float()"},
    FactRow{Fact::kSyncEachMicroStep, "torchtune", kAny, kAny, 1,
            "gradients reduced each micro-step", Basis::kSource,
            "torchtune/recipes/full_finetune_distributed.py train"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

plan::Stack CurrentStack() {
  return {"torchtune",
          {{"torchtune", {0, 4, 0}}, {"torch", {2, 5, 0}}, {"bitsandbytes", {0, 44, 0}}}};
}

}  // namespace trainfit::frameworks::torchtune
