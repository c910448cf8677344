// What a framework does when nobody says otherwise: rows of name, value, version range, source.
//
// plan/ knows the shape of the rows; the rows themselves live with their framework. The same rows
// fill in what a user left out, choose the lowering's behaviour, and are printed as assumptions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/basis.h"

namespace trainfit::plan {

// A package version as three numbers; missing ones are 0. Comparable.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};
// "4.48.1", "2.7.0+cu128", "1.10.0.dev0": digits up to three dots; anything else ends the number.
Version ParseVersion(std::string_view text);
std::string Text(Version version);

// A stack of packages with their versions: {"torch", 2.12.0}, {"transformers", 5.3.0}, …
struct Package {
  std::string name;
  Version version;
  bool operator==(const Package&) const = default;
};

struct Stack {
  std::string framework;  // "huggingface"
  std::vector<Package> packages;
  // 0.0.0 when the stack does not contain the package.
  Version Of(std::string_view package) const;
  std::string Text() const;  // "transformers 5.3.0, torch 2.12.0"
};

// Questions that fact rows answer. Values are small integers: booleans, or an enumerator.
enum class Fact : std::uint8_t {
  kCheckpointingDefault,   // spec::Checkpointing
  kCheckpointReentrant,    // bool
  kCheckpointStopsEarly,   // bool; without reentry: recomputation ends at the last tensor kept
  kLossPath,               // LossPath
  kLossKernelDefault,      // spec::LossKernel
  kOutputsToFp32,          // bool: accelerate copies low-precision outputs to fp32
  kLoadDtypeDefault,       // spec::Dtype of the trained model when nothing is said
  kOptimizerLoopDefault,   // spec::OptimizerLoop
  kForeachTemporaries,     // parameter-sized temporaries of one foreach AdamW step
  kAdapterDtypeFp32,       // bool: PEFT keeps adapters in fp32 over a bf16 base
  kKbitPreparation,        // bool: prepare_model_for_kbit_training is called
  kKbitEndsBf16,           // bool: after that, embedding and head are cast back to bf16
  kQloraAdapterBf16,       // bool: the trainer casts QLoRA adapters to bf16
  kSdpaGroupedQuery,       // bool: K and V are not repeated for SDPA without a mask
  kAttentionDefault,       // spec::AttentionImplementation
  kEmbedding32bitStates,   // bool: 8-bit optimizers keep embeddings in 32 bits
  kLigerSeparateProducts,  // bool: Liger's fused loss makes head gradients chunk by chunk
  kExpertsFused,           // bool: routed experts are 3-D parameters, not nn.Linear modules
  kPaddingMask,            // bool: batches carry an attention mask
  kAutocast,               // bool: forward runs under autocast with mixed precision
  kLoadsOntoGpu,           // bool: weights go from the files to the GPU, tensor by tensor
  kFsdpLoadsOnce,          // bool: under FSDP one rank of a node loads the weights
  kZeroBucketBefore,   // bool: reduce buckets are made before backward, not at its first gradient
  kZeroStatesAtInit,   // bool: optimizer states exist before the first step
  kZeroOverflowBytes,  // bytes an element of the largest gradient slice in the overflow check
  kMasterWeights,      // bool: mixed precision keeps 16-bit weights, and fp32 in the optimizer
  kTransformerEngine,  // bool: its modules, workspaces and attention are in use
  kSharedBuffers,      // bool: attention scores and gathered inputs have one global buffer
  kPlaceholderGradients,   // bool: fused accumulation keeps one unused gradient a weight shape
  kTensorParallel,         // bool: layers are split by DTensors, and the sequence between them
  kModelParallel,          // bool: the framework splits models over ranks
  kShardingDefault,        // spec::Sharding when there are several replicas
  kShardingsSimulated,     // set of spec::Sharding, one bit each
  kUpcastTrainedShards,    // bool: under mixed precision, FSDP1 holds trained weights in fp32
  kAdapterUnits,           // bool: FSDP1 wraps each adapter matrix alone, apart from frozen weights
  kReduceFp32,             // bool: FSDP sums gradients over the ranks in fp32
  kSyncEachMicroStep,      // bool: gradients are reduced after every micro-step
  kLowPrecisionNorms,      // bool: norms compute in the autocast dtype instead of fp32
  kQuantizesHead,          // bool: 4-bit loading takes the output head as well
  kReduceInputAside,       // bool: FSDP2 makes the input of a reduce-scatter on that stream
  kOutputsHeld,            // bool: the training loop holds the logits while backward runs
  kLossChunkTokens,        // head and loss go by pieces of so many tokens of a row; 0: at once
  kLossChunks,             // … by so many pieces of a row; 0: at once
  kRotaryInFp32,           // bool: rotary embedding in complex or fp32 numbers
  kCheckpointInsideUnit,   // bool: FSDP wraps checkpointed blocks, not checkpoints FSDP units
  kFourBitKeepsInput,      // bool: bitsandbytes' 4-bit product keeps its input for backward
  kShardsGroupedWords,     // bool: FSDP sees GPTQ's and AWQ's packed words as parameters
  kFrozenUnitsHoldInputs,  // bool: FSDP1 keeps inputs of frozen, checkpointed units in backward
};

// How the framework computes the loss on materialized logits (see
// docs/decisions/facts-have-versions.md).
enum class LossPath : std::int64_t {
  kFloatInForwardShifted,  // logits.float(), shifted contiguous copies: 12 B a logit
  kLossUtilsShifted,       // upcast in loss_utils, shifted copy: 14 B
  kPaddedLabels,           // labels padded instead: 10 B forward, 12 B backward
  kModelDtype,             // cross entropy on logits as they are
  kFusedEntropy,           // one kernel on logits as they are, with a gradient of their own
};

struct FactRow {
  Fact fact = Fact::kLossPath;
  const char* package = "";  // whose version decides
  Version since;             // inclusive
  Version until;             // exclusive; 0.0.0: open
  std::int64_t value = 0;
  const char* what = "";  // as printed among the assumptions
  Basis basis = Basis::kSource;
  const char* source = "";
};

class FactTable {
 public:
  FactTable() = default;
  // `base`: rows that answer what `rows` do not.
  FactTable(Stack stack, std::span<const FactRow> rows, std::span<const FactRow> base = {})
      : stack_(std::move(stack)), rows_(rows), base_(base) {}
  const Stack& stack() const { return stack_; }
  // The row for this stack's versions. Every fact has a row for every version: a test checks it.
  const FactRow& Row(Fact fact) const;
  std::int64_t Value(Fact fact) const { return Row(fact).value; }
  bool Is(Fact fact) const { return Value(fact) != 0; }

 private:
  Stack stack_;
  std::span<const FactRow> rows_;
  std::span<const FactRow> base_;
};

}  // namespace trainfit::plan
