#include "frameworks/torchtitan/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::torchtitan {
namespace {

using plan::Fact;
using plan::FactRow;

// What differs from the Hugging Face stack.
constexpr std::array kRows = {
    FactRow{Fact::kCheckpointingDefault, "torchtitan", kAny, kAny,
            ValueOf(spec::Checkpointing::kPerOperator), "activation checkpointing", Basis::kSource,
            "torchtitan/config_manager.py: activation_checkpoint.mode = selective"},
    FactRow{Fact::kCheckpointReentrant, "torchtitan", kAny, kAny, 0, "reentrant checkpointing",
            Basis::kSource,
            "torchtitan/models/llama3/infra/parallelize.py: checkpoint_wrapper without reentrance"},
    FactRow{Fact::kCheckpointInsideUnit, "torchtitan", kAny, kAny, 1,
            "checkpointing inside FSDP units", Basis::kSource,
            "torchtitan/models/llama3/infra/parallelize.py: apply_ac before apply_fsdp"},
    FactRow{Fact::kLossPath, "torchtitan", kAny, kAny, ValueOf(plan::LossPath::kPaddedLabels),
            "loss path", Basis::kSource,
            "torchtitan/components/loss.py cross_entropy_loss: pred.float(), labels shifted by the "
            "data"},
    FactRow{Fact::kLossKernelDefault, "torchtitan", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "loss", Basis::kSource, "torchtitan/components/loss.py"},
    FactRow{Fact::kOutputsToFp32, "torchtitan", kAny, kAny, 0, "outputs copied to fp32",
            Basis::kSource, "torchtitan/train.py forward_backward_step"},
    FactRow{Fact::kOptimizerLoopDefault, "torchtitan", kAny, kAny,
            ValueOf(spec::OptimizerLoop::kFused), "optimizer loop", Basis::kSource,
            "torchtitan/config_manager.py: optimizer.implementation = fused"},
    FactRow{Fact::kAttentionDefault, "torchtitan", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kSdpa), "attention", Basis::kSource,
            "torchtitan/models/attention.py ScaledDotProductAttention"},
    FactRow{Fact::kSdpaGroupedQuery, "torchtitan", kAny, kAny, 0, "grouped queries in SDPA",
            Basis::kSource, "torchtitan/models/llama3/model/model.py repeat_kv"},
    FactRow{Fact::kAutocast, "torchtitan", kAny, kAny, 0, "autocast", Basis::kSource,
            "torchtitan/distributed/utils.py maybe_enable_amp: FSDP handles mixed precision"},
    FactRow{Fact::kReduceFp32, "torchtitan", kAny, kAny, 1, "gradients reduced in fp32",
            Basis::kSource, "torchtitan/config_manager.py: mixed_precision_reduce = float32"},
    FactRow{Fact::kSyncEachMicroStep, "torchtitan", kAny, kAny, 1,
            "gradients reduced each micro-step", Basis::kSource, "torchtitan/train.py train_step"},
    FactRow{Fact::kTensorParallel, "torchtitan", kAny, kAny, 1, "tensor parallelism",
            Basis::kSource, "torchtitan/models/llama3/infra/parallelize.py apply_tp"},
    FactRow{Fact::kRotaryInFp32, "torchtitan", kAny, kAny, 1, "rotary embedding in fp32",
            Basis::kSource, "torchtitan/models/llama3/model/model.py apply_rotary_emb"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

plan::Stack CurrentStack() {
  return {"torchtitan", {{"torchtitan", {0, 1, 0}}, {"torch", {2, 7, 0}}}};
}

}  // namespace trainfit::frameworks::torchtitan
