#include "frameworks/megatron/facts.h"

#include <array>

#include "frameworks/fact_values.h"
#include "spec/recipe.h"

namespace trainfit::frameworks::megatron {
namespace {

using plan::Fact;
using plan::FactRow;
using spec::Sharding;

constexpr std::int64_t Bit(Sharding sharding) { return std::int64_t{1} << ValueOf(sharding); }

// A question about adapters, Hugging Face's trainer or DeepSpeed, which have no part in these
// stacks.
constexpr FactRow NotHere(Fact fact) {
  return {fact, "torch", kAny, kAny, 0, "", Basis::kSource, "not in this stack"};
}

// A dialect is a stack with a package of its own: "nemo" is 0.0.0 in plain Megatron.
constexpr std::array kRows = {
    NotHere(Fact::kLossPath),
    NotHere(Fact::kOutputsToFp32),
    NotHere(Fact::kLoadDtypeDefault),
    NotHere(Fact::kAdapterDtypeFp32),
    NotHere(Fact::kKbitPreparation),
    NotHere(Fact::kKbitEndsBf16),
    NotHere(Fact::kQloraAdapterBf16),
    NotHere(Fact::kSdpaGroupedQuery),
    NotHere(Fact::kEmbedding32bitStates),
    NotHere(Fact::kLigerSeparateProducts),
    NotHere(Fact::kZeroBucketBefore),
    NotHere(Fact::kZeroStatesAtInit),
    NotHere(Fact::kZeroOverflowBytes),
    FactRow{Fact::kCheckpointReentrant, "torch", kAny, kAny, 1, "reentrant checkpointing",
            Basis::kSource, "megatron/core/tensor_parallel/random.py CheckpointFunction"},
    FactRow{Fact::kCheckpointingDefault, "torch", kAny, kAny, ValueOf(spec::Checkpointing::kNone),
            "activation recomputation", Basis::kSource,
            "megatron/core/transformer/transformer_config.py: recompute_granularity=None"},
    FactRow{Fact::kOptimizerLoopDefault, "torch", kAny, kAny, ValueOf(spec::OptimizerLoop::kFused),
            "optimizer loop", Basis::kSource,
            "megatron/core/optimizer/__init__.py: FusedAdam of Transformer Engine or apex"},
    FactRow{Fact::kForeachTemporaries, "torch", kAny, kAny, 0, "optimizer temporaries",
            Basis::kSource, "FusedAdam updates in place"},
    FactRow{Fact::kAttentionDefault, "torch", kAny, kAny,
            ValueOf(spec::AttentionImplementation::kFlash2), "attention", Basis::kSource,
            "transformer_engine dot_product_attention/utils.py get_attention_backend"},
    FactRow{Fact::kLossKernelDefault, "torch", kAny, kAny, ValueOf(spec::LossKernel::kPlain),
            "cross entropy", Basis::kSource,
            "megatron/core/transformer/transformer_config.py: cross_entropy_loss_fusion=False"},
    FactRow{Fact::kPaddingMask, "torch", kAny, kAny, 0, "attention mask", Basis::kSource,
            "packed samples of full length, causal kernels"},
    FactRow{Fact::kAutocast, "torch", kAny, kAny, 0, "autocast", Basis::kSource,
            "megatron/core/transformer/module.py Float16Module: the model itself is 16-bit"},
    FactRow{Fact::kMasterWeights, "torch", kAny, kAny, 1, "fp32 master weights", Basis::kSource,
            "megatron/core/optimizer/optimizer.py Float16OptimizerWithFloat16Params"},
    FactRow{Fact::kTransformerEngine,
            "transformer-engine",
            kAny,
            {0, 0, 1},
            0,
            "Transformer Engine",
            Basis::kSource,
            "not in the stack"},
    FactRow{Fact::kTransformerEngine,
            "transformer-engine",
            {0, 0, 1},
            kAny,
            1,
            "Transformer Engine",
            Basis::kSource,
            "megatron/training/arguments.py: transformer_impl=transformer_engine"},
    FactRow{Fact::kSharedBuffers,
            "megatron-core",
            kAny,
            {0, 0, 1},
            0,
            "global buffers",
            Basis::kSource,
            "Megatron-LM before megatron-core: a buffer for each use"},
    FactRow{Fact::kSharedBuffers,
            "megatron-core",
            {0, 0, 1},
            kAny,
            1,
            "global buffers",
            Basis::kSource,
            "megatron/core/utils.py GlobalMemoryBuffer"},
    FactRow{Fact::kPlaceholderGradients,
            "transformer-engine",
            kAny,
            {0, 0, 1},
            0,
            "placeholder gradients",
            Basis::kSource,
            "tensor_parallel/layers.py: torch.empty"},
    FactRow{Fact::kPlaceholderGradients,
            "transformer-engine",
            {0, 0, 1},
            kAny,
            1,
            "placeholder gradients",
            Basis::kSource,
            "transformer_engine/pytorch/module/base.py get_dummy_wgrad"},
    FactRow{Fact::kModelParallel, "torch", kAny, kAny, 1, "model parallelism", Basis::kSource,
            "megatron/core/parallel_state.py"},
    FactRow{Fact::kShardingDefault, "torch", kAny, kAny, ValueOf(Sharding::kDdp), "replicas",
            Basis::kSource,
            "megatron/core/optimizer/optimizer_config.py: use_distributed_optimizer=False; "
            "--sharding zero1 is the distributed optimizer"},
    FactRow{Fact::kShardingsSimulated, "torch", kAny, kAny,
            Bit(Sharding::kNone) | Bit(Sharding::kDdp) | Bit(Sharding::kZero1),
            "shardings that can be simulated", Basis::kSource, "states.cc"},
    FactRow{Fact::kExpertsFused, "torch", kAny, kAny, 1, "grouped experts", Basis::kSource,
            "megatron/core/transformer/moe/experts.py"},
};

}  // namespace

std::span<const FactRow> FactRows() { return kRows; }

std::span<const plan::Stack> Stacks() {
  static const std::array kStacks = {
      plan::Stack{"megatron",
                  {{"megatron-core", {0, 20, 0}},
                   {"transformer-engine", {2, 16, 0}},
                   {"torch", {2, 15, 0}}}},
      plan::Stack{"megatron-deepspeed",
                  {{"megatron-lm", {2, 5, 0}}, {"deepspeed", {0, 7, 0}}, {"torch", {1, 12, 0}}}},
      plan::Stack{"megatron-bridge",
                  {{"megatron-bridge", {0, 4, 0}},
                   {"megatron-core", {0, 20, 0}},
                   {"transformer-engine", {2, 16, 0}},
                   {"torch", {2, 15, 0}}}},
      plan::Stack{"nemo",
                  {{"nemo", {2, 4, 0}},
                   {"megatron-core", {0, 14, 0}},
                   {"transformer-engine", {2, 7, 0}},
                   {"torch", {2, 8, 0}}}},
  };
  return kStacks;
}

}  // namespace trainfit::frameworks::megatron
