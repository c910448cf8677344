#include "api/ways_out.h"

#include <array>
#include <optional>

namespace trainfit::api {
namespace {

using readers::OomKind;
using readers::OomMoment;
using verdict::OomCause;

// Which rows apply to what. Rows are in the order of what they cost the user.
struct Row {
  std::optional<OomKind> kind;
  std::optional<OomCause> cause;
  std::optional<OomMoment> moment;
  const char* change;
  const char* why;
};

constexpr std::array kRows = std::to_array<Row>({
    {OomKind::kGpu,
     OomCause::kLogits,
     {},
     "a fused loss (Liger, TRL's chunked loss)",
     "logits are then never whole"},
    {OomKind::kGpu,
     OomCause::kScores,
     {},
     "attention sdpa or flash-attention",
     "scores are then never whole"},
    {OomKind::kGpu,
     OomCause::kActivations,
     {},
     "activation checkpointing",
     "keeps the inputs of layers alone, for about a third more compute"},
    {OomKind::kGpu,
     OomCause::kLogits,
     {},
     "a smaller micro-batch with more accumulation",
     "logits shrink in proportion"},
    {OomKind::kGpu, OomCause::kScores, {}, "shorter sequences", "scores grow with their square"},
    {OomKind::kGpu,
     OomCause::kActivations,
     {},
     "a smaller micro-batch with more accumulation",
     "activations shrink in proportion"},
    {OomKind::kGpu,
     OomCause::kShare,
     {},
     "no smaller batch",
     "this is a part of the model's states: it is the same at batch 1"},
    {OomKind::kGpu,
     OomCause::kShare,
     {},
     "more GPUs, fully sharded (ZeRO-3, FSDP)",
     "each one's share of weights, gradients and optimizer states shrinks"},
    {OomKind::kGpu,
     OomCause::kShare,
     {},
     "an 8-bit optimizer, or its offload to the host",
     "moments are three quarters of what AdamW adds"},
    {OomKind::kGpu, OomCause::kShare, {}, "LoRA or QLoRA", "almost no states are left"},
    {OomKind::kGpu,
     OomCause::kFlatBuffer,
     {},
     "ZeRO-3 or FSDP instead of ZeRO-1 and 2",
     "those keep all weights on each GPU, in one piece"},
    {OomKind::kGpu,
     OomCause::kFlatBuffer,
     {},
     "LoRA",
     "the piece has the trained parameters alone"},
    {OomKind::kGpu,
     OomCause::kBucket,
     {},
     "smaller reduce_bucket_size, allgather_bucket_size or "
     "sub_group_size in the DeepSpeed configuration",
     "the buffer has this many elements, whatever the model is; a tenth costs little speed"},
    {OomKind::kGpu,
     OomCause::kWeights,
     {},
     "4-bit weights (QLoRA), or a smaller model",
     "the weights themselves do not fit"},
    {OomKind::kGpu,
     OomCause::kWeights,
     {},
     "loading shard by shard (ZeRO-3, FSDP with "
     "cpu_ram_efficient_loading)",
     "each process otherwise loads the whole model onto its own card"},
    {OomKind::kGpu,
     OomCause::kUpcast,
     {},
     "loading in bf16, and without casting embedding and head "
     "up to fp32 (prepare_model_for_kbit_training)",
     "the copy is as large as the vocabulary times the hidden size"},
    {OomKind::kGpu,
     {},
     OomMoment::kOptimizerStep,
     "an 8-bit optimizer",
     "its states are made in the first step"},
    {OomKind::kGpu,
     {},
     OomMoment::kEvaluate,
     "per_device_eval_batch_size 1 and "
     "prediction_loss_only",
     "evaluation has a batch of its own (8 by default) and keeps the logits"},
    {OomKind::kGpu, {}, OomMoment::kLoad, "4-bit or 16-bit loading", "the weights do not fit"},
    {OomKind::kGpuDriver,
     {},
     {},
     "look at nvidia-smi for other processes",
     "this request went past PyTorch's allocator: the card itself was full"},
    {OomKind::kGpuDriver,
     {},
     {},
     "leave room on the card (a smaller batch, "
     "torch.cuda.set_per_process_memory_fraction)",
     "PyTorch's cache does not give back for others"},
    {OomKind::kGpuLibrary,
     {},
     {},
     "leave a gibibyte of the card free",
     "handles and workspaces of cuBLAS and cuDNN are made outside the cache at their first use"},
    {OomKind::kNccl,
     {},
     {},
     "leave one to two gibibytes of the card free",
     "NCCL's buffers are not PyTorch's; they come with each communicator's first use"},
    {OomKind::kNccl,
     {},
     {},
     "NCCL_BUFFSIZE or NCCL_MAX_NCHANNELS smaller",
     "buffers a channel and peer shrink, at some bandwidth"},
    {OomKind::kHostAllocator,
     {},
     {},
     "more host RAM, or fewer processes on the node",
     "each process that loads the model or offloads to the host holds its own share"},
    {OomKind::kHostKilled,
     {},
     {},
     "look at dmesg or the scheduler for the kill",
     "signal 9 is not an error of the program: the machine or its limit ran out of RAM"},
    {OomKind::kHostKilled,
     {},
     {},
     "load in 16 bit with low_cpu_mem_usage, on one process at a time",
     "otherwise every process holds the whole checkpoint, twice when it is cast"},
    {OomKind::kHostKilled,
     {},
     {},
     "no offload to the host, or more RAM",
     "offloaded AdamW holds 12 bytes a parameter and pinned copies beside them"},
    {OomKind::kHostKilled, {}, {}, "fewer data loader workers", "each has a copy of the process"},
    {OomKind::kPinned,
     {},
     {},
     "pin_memory: false",
     "pinned memory cannot be swapped, and is limited"},
    {OomKind::kPinned,
     {},
     {},
     "more host RAM, or ulimit -l unlimited",
     "the limit of locked memory may be lower than the RAM"},
    {OomKind::kShared,
     {},
     {},
     "a larger /dev/shm (docker --shm-size 16g, or --ipc host)",
     "data loader workers hand batches over there, and Docker gives it 64 MB"},
    {OomKind::kShared, {}, {}, "num_workers 0", "then nothing is handed over"},
    {OomKind::kDisk,
     {},
     {},
     "save_total_limit, and saving the model alone (save_only_model)",
     "a full checkpoint has the optimizer's states: 12 to 14 bytes a parameter"},
    {OomKind::kDisk,
     {},
     {},
     "HF_HOME and the output folder on another disk",
     "the hub's cache holds every model that was downloaded"},
});

}  // namespace

std::vector<report::WayOut> WaysOut(const readers::OomMessage& message,
                                    std::optional<OomCause> cause, bool is_fragmented) {
  std::vector<report::WayOut> ways;
  if (is_fragmented) {
    ways.push_back({"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                    "the cache held enough, but in pieces", false});
  }
  for (const Row& row : kRows) {
    const bool applies = (!row.kind || *row.kind == message.kind) &&
                         (!row.cause || (cause && *row.cause == *cause)) &&
                         (!row.moment || *row.moment == message.moment);
    if (applies) ways.push_back({row.change, row.why, false});
  }
  if (message.kind == OomKind::kGpu && ways.size() < 2) {
    ways.push_back({"a smaller micro-batch with more accumulation, or activation checkpointing",
                    "what grows with the batch shrinks", false});
    ways.push_back({"trainfit check FILE... --on HARDWARE",
                    "says which part is the largest, and which single change fits", false});
  }
  return ways;
}

}  // namespace trainfit::api
