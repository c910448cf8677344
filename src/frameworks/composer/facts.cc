#include "frameworks/composer/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::composer {
namespace {

using plan::Fact;
using plan::FactRow;

// What differs from the Hugging Face stack.
constexpr std::array kRows = {
    FactRow{Fact::kCheckpointingDefault, "composer", kAny, kAny,
            ValueOf(spec::Checkpointing::kNone), "activation checkpointing", Basis::kSource,
            "composer/trainer/dist_strategy.py: fsdp_config activation_checkpointing=False"},
    FactRow{Fact::kCheckpointReentrant, "composer", kAny, kAny, 0, "reentrant checkpointing",
            Basis::kSource,
            "llm-foundry yamls/pretrain: activation_checkpointing_reentrant: false"},
    FactRow{Fact::kCheckpointInsideUnit, "composer", kAny, kAny, 1,
            "checkpointing inside FSDP units", Basis::kSource,
            "composer/trainer/dist_strategy.py prepare_fsdp_module: checkpoint_wrapper after FSDP"},
    FactRow{Fact::kLossPath, "composer", kAny, kAny, ValueOf(plan::LossPath::kFusedEntropy),
            "loss path", Basis::kSource,
            "llmfoundry/models/mpt/modeling_mpt.py ComposerMPTCausalLM: fused_crossentropy of "
            "flash-attn"},
    FactRow{Fact::kLossKernelDefault, "composer", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "loss", Basis::kSource, "llmfoundry/models/mpt/modeling_mpt.py"},
    FactRow{Fact::kOutputsToFp32, "composer", kAny, kAny, 0, "outputs copied to fp32",
            Basis::kSource, "composer/trainer/trainer.py _train_microbatch"},
    FactRow{
        Fact::kOptimizerLoopDefault, "composer", kAny, kAny, ValueOf(spec::OptimizerLoop::kForLoop),
        "optimizer loop", Basis::kSource,
        "composer/optim/decoupled_weight_decay.py DecoupledAdamW.adamw: a loop over parameters"},
    FactRow{Fact::kAttentionDefault, "composer", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kFlash2), "attention", Basis::kSource,
            "llm-foundry yamls/pretrain: attn_impl flash"},
    FactRow{Fact::kAutocast, "composer", kAny, kAny, 1, "autocast", Basis::kSource,
            "composer/core/precision.py get_precision_context: amp_bf16"},
    FactRow{Fact::kLowPrecisionNorms, "composer", kAny, kAny, 1, "norms in low precision",
            Basis::kSource,
            "llmfoundry/models/layers/norm.py LPLayerNorm: casts to the autocast dtype"},
    FactRow{Fact::kReduceFp32, "composer", kAny, kAny, 1, "gradients reduced in fp32",
            Basis::kSource, "composer/trainer/mosaic_fsdp_utils.py get_mixed_precision: DEFAULT"},
    FactRow{Fact::kSyncEachMicroStep, "composer", kAny, kAny, 1,
            "gradients reduced each micro-step", Basis::kSource,
            "composer/trainer/trainer.py _train_microbatch: no_sync for DDP alone"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

plan::Stack CurrentStack() {
  return {"composer", {{"llm-foundry", {0, 6, 0}}, {"composer", {0, 20, 1}}, {"torch", {2, 2, 0}}}};
}

}  // namespace trainfit::frameworks::composer
