// What configuration files of all tools say about memory, in one vocabulary.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainfit::readers {

enum class Term : std::uint8_t {
  kNone,
  kModel,
  kTask,  // word: sft, pt, dpo, …
  kMicroBatch,
  kGlobalBatch,
  kAccumulation,
  kLength,
  kPacking,      // flag: examples joined up to the length
  kPaddingFree,  // flag: no mask, one long row
  kBf16,         // flag: autocast in it
  kFp16,
  kMixedPrecision,  // word: no, bf16, fp16, fp8
  kPureBf16,        // flag: weights, gradients and states in it
  kPureFp16,
  kLoadDtype,        // word: the weights as loaded; "auto": as the checkpoint has them
  kAdapter,          // word: none, lora, qlora
  kQuantBits,        // word: 4, 8
  kLoad4bit,         // flag
  kLoad8bit,         // flag
  kDoubleQuant,      // flag
  kKbitPreparation,  // flag
  kAdapterDtype,     // word
  kOptimizer,        // word of the tool
  kCheckpointing,    // flag
  kAttention,        // word of the tool
  kLossKernel,       // word: plain, liger, in-place, chunked
  kLiger,            // flag
  kLoraRank,
  kLoraDropout,
  kLoraTargets,
  kModulesToSave,
  kBuiltInDeepSpeed,  // word: a configuration that comes with the tool
  kZeroStage,
  kOffloadOptimizer,  // word: none, cpu, nvme
  kOffloadParameters,
  kReduceBucket,
  kPrefetchBucket,
  kPersistence,
  kReuseDistance,
  kSubGroup,
  kOverlapComm,
  kPinMemory,
  kPartitionedLoad,  // zero.Init around from_pretrained
  kFsdp,             // flag
  kFsdpVersion,      // count
  kFsdpStrategy,     // word: full_shard, shard_grad_op, …; or true and false (FSDP2)
  kFsdpOffload,      // flag
  kDistribution,     // word: accelerate's distributed_type
  kProcesses,
  kProcessesPerNode,
  kNodes,
  kTensorParallel,
  kPipelineParallel,
  kContextParallel,
  kExpertParallel,
  kVirtualStages,
  kExpertTensorParallel,
  kSequenceParallel,      // flag
  kDistributedOptimizer,  // flag
  kOverlapReduce,         // flag
  kOverlapGather,         // flag
  kGradientsInBf16,       // flag
  kFp8Format,             // word: e4m3, hybrid
  kFp8Recipe,             // word: delayed, tensorwise, blockwise, mxfp8
  kFp8Parameters,         // flag
  kRecompute,             // word: full, selective; true
  kRecomputeMethod,       // word: uniform, block
  kRecomputeLayers,
  kRecomputeModules,
  kHiddenDropout,
  kAttentionDropout,
};
constexpr int kTerms = static_cast<int>(Term::kAttentionDropout) + 1;

// "micro-batch", as people call it.
std::string_view Name(Term term);

// What the value of a term must be.
enum class ValueKind : std::uint8_t { kCount, kFlag, kWord, kNames, kFraction };
ValueKind KindOf(Term term);

}  // namespace trainfit::readers
