#include "frameworks/fsdp_qlora/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::fsdp_qlora {
namespace {

using plan::Fact;
using plan::FactRow;

// What differs from the Hugging Face stack.
constexpr std::array kRows = {
    FactRow{Fact::kCheckpointingDefault, "fsdp_qlora", kAny, kAny,
            ValueOf(spec::Checkpointing::kFull), "activation checkpointing", Basis::kSource,
            "fsdp_qlora train.py: use_gradient_checkpointing=True"},
    FactRow{Fact::kCheckpointInsideUnit, "fsdp_qlora", kAny, kAny, 1,
            "checkpointing inside FSDP units", Basis::kSource,
            "fsdp_qlora train.py: apply_activation_checkpointing after FSDP"},
    FactRow{Fact::kLossKernelDefault, "fsdp_qlora", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "loss", Basis::kSource, "fsdp_qlora train.py: the loss of transformers"},
    FactRow{Fact::kOutputsToFp32, "fsdp_qlora", kAny, kAny, 0, "outputs copied to fp32",
            Basis::kSource, "fsdp_qlora train.py"},
    FactRow{Fact::kOutputsHeld, "fsdp_qlora", kAny, kAny, 1, "logits held in backward",
            Basis::kSource,
            "fsdp_qlora train.py: the variable output lives through loss.backward()"},
    FactRow{Fact::kOptimizerLoopDefault, "fsdp_qlora", kAny, kAny,
            ValueOf(spec::OptimizerLoop::kForeach), "optimizer loop", Basis::kSource,
            "fsdp_qlora train.py: torch.optim.AdamW"},
    FactRow{Fact::kAdapterDtypeFp32, "fsdp_qlora", kAny, kAny, 0, "adapters in fp32",
            Basis::kSource, "fsdp_qlora train.py: adapters in the dtype of the model"},
    FactRow{Fact::kKbitPreparation, "fsdp_qlora", kAny, kAny, 0, "k-bit preparation",
            Basis::kSource, "fsdp_qlora train.py: its own quantized loading"},
    FactRow{Fact::kQloraAdapterBf16, "fsdp_qlora", kAny, kAny, 1, "QLoRA adapters in bf16",
            Basis::kSource, "fsdp_qlora train.py: adapters in the dtype of the model"},
    FactRow{Fact::kAttentionDefault, "fsdp_qlora", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kSdpa), "attention", Basis::kSource,
            "fsdp_qlora train.py: attn_implementation sdpa"},
    FactRow{Fact::kAutocast, "fsdp_qlora", kAny, kAny, 0, "autocast", Basis::kSource,
            "fsdp_qlora train.py: precision bf16"},
    FactRow{Fact::kAdapterUnits, "fsdp_qlora", kAny, kAny, 1, "FSDP units of adapters",
            Basis::kSource, "fsdp_qlora train.py get_wrapping_policy"},
    FactRow{Fact::kSyncEachMicroStep, "fsdp_qlora", kAny, kAny, 1,
            "gradients reduced each micro-step", Basis::kSource, "fsdp_qlora train.py"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

plan::Stack CurrentStack() {
  return {"fsdp_qlora",
          {{"fsdp_qlora", {0, 0, 0}},
           {"transformers", {4, 38, 0}},
           {"peft", {0, 9, 0}},
           {"torch", {2, 2, 0}},
           {"bitsandbytes", {0, 43, 0}}}};
}

}  // namespace trainfit::frameworks::fsdp_qlora
