#include "readers/oom_phrases.h"

#include <array>

namespace trainfit::readers {
namespace {

constexpr std::array kPhrases = std::to_array<OomPhrase>({
    // c10/cuda/CUDACachingAllocator.cpp; HIP's is the same file translated.
    {"CUDA out of memory", OomKind::kGpu},
    {"HIP out of memory", OomKind::kGpu},
    {"XPU out of memory", OomKind::kGpu},
    {"MPS backend out of memory", OomKind::kGpu},
    {"NPU out of memory", OomKind::kGpu},
    // Pasted without its beginning.
    {"Tried to allocate", OomKind::kGpu},
    // c10/core/impl/alloc_cpu.cpp.
    {"DefaultCPUAllocator", OomKind::kHostAllocator},
    {"not enough memory: you tried to allocate", OomKind::kHostAllocator},
    // at::cuda CachingHostAllocator, DeepSpeed's and transformers' pinning.
    {"cudaHostAlloc", OomKind::kPinned},
    {"cudaHostRegister", OomKind::kPinned},
    {"in pin_memory", OomKind::kPinned},
    {"pin_memory error", OomKind::kPinned},
    // NCCL: debug.h prints "Cuda failure" with the driver's words.
    {"Cuda failure 'out of memory'", OomKind::kNccl},
    {"Cuda failure 2 'out of memory'", OomKind::kNccl},
    {"NCCL WARN Cuda failure", OomKind::kNccl},
    {"ncclUnhandledCudaError", OomKind::kNccl},
    // Handles and workspaces of libraries, outside the caching allocator.
    {"CUBLAS_STATUS_ALLOC_FAILED", OomKind::kGpuLibrary},
    {"CUDNN_STATUS_ALLOC_FAILED", OomKind::kGpuLibrary},
    {"CUSOLVER_STATUS_ALLOC_FAILED", OomKind::kGpuLibrary},
    // bitsandbytes csrc/ops.cuh: CUDA_CHECK_RETURN.
    {"Error out of memory at line", OomKind::kGpuDriver},
    {"CUDA error: out of memory", OomKind::kGpuDriver},
    {"HIP error: out of memory", OomKind::kGpuDriver},
    {"CUDA_ERROR_OUT_OF_MEMORY", OomKind::kGpuDriver},
    {"cudaErrorMemoryAllocation", OomKind::kGpuDriver},
    // torch/utils/data/_utils/signal_handling.py.
    {"out of shared memory", OomKind::kShared},
    {"unable to open shared memory object", OomKind::kShared},
    {"unable to allocate shared memory", OomKind::kShared},
    {"No space left on device", OomKind::kDisk},
    {"StorageFull", OomKind::kDisk},
    {"Disk quota exceeded", OomKind::kDisk},
    {"OutOfMemoryError", OomKind::kGpuDriver},
    // Launchers and kernels about a process that was killed.
    {"exitcode  : -9", OomKind::kHostKilled},
    {"exitcode: -9", OomKind::kHostKilled},
    {"exit code -9", OomKind::kHostKilled},
    {"exit code: -9", OomKind::kHostKilled},
    {"exit status -9", OomKind::kHostKilled},
    {"return code = -9", OomKind::kHostKilled},
    {"return code -9", OomKind::kHostKilled},
    {"exit code 137", OomKind::kHostKilled},
    {"Signal 9", OomKind::kHostKilled},
    {"SIGKILL", OomKind::kHostKilled},
    {"oom-kill", OomKind::kHostKilled},
    {"oom_kill", OomKind::kHostKilled},
    {"Out of memory: Killed process", OomKind::kHostKilled},
    {"OOM Killed", OomKind::kHostKilled},
    {"OOMKilled", OomKind::kHostKilled},
    {"Killed", OomKind::kHostKilled},
});

// Frames nearer to the allocation have the higher rank: the loop that calls is in every traceback.
constexpr std::array kMoments = std::to_array<MomentPhrase>({
    {"Loading checkpoint shards", OomMoment::kLoad, 1},
    {"from_pretrained", OomMoment::kLoad, 2},
    {"load_checkpoint_in_model", OomMoment::kLoad, 3},
    {"_load_pretrained_model", OomMoment::kLoad, 3},
    {"load_state_dict", OomMoment::kLoad, 3},
    {"accelerator.prepare", OomMoment::kInit, 3},
    {"deepspeed.initialize", OomMoment::kInit, 3},
    {"_prepare_deepspeed", OomMoment::kInit, 3},
    {"_configure_zero_optimizer", OomMoment::kInit, 4},
    {"initialize_optimizer_states", OomMoment::kInit, 5},
    {"FullyShardedDataParallel(", OomMoment::kInit, 4},
    {"fully_shard", OomMoment::kInit, 4},
    {"in evaluation_loop", OomMoment::kEvaluate, 6},
    {"in prediction_step", OomMoment::kEvaluate, 6},
    {"in evaluate", OomMoment::kEvaluate, 5},
    {"in generate", OomMoment::kGenerate, 6},
    {"_save_checkpoint", OomMoment::kSave, 6},
    {"save_pretrained", OomMoment::kSave, 6},
    {"in save_model", OomMoment::kSave, 5},
    {"_zero3_consolidated_16bit_state_dict", OomMoment::kSave, 7},
    {"get_full_state_dict", OomMoment::kSave, 7},
    {"in forward", OomMoment::kForward, 4},
    {"cross_entropy", OomMoment::kLoss, 7},
    {"loss_utils.py", OomMoment::kLoss, 7},
    {"logits.float()", OomMoment::kLoss, 7},
    {"in backward", OomMoment::kBackward, 7},
    {"run_backward", OomMoment::kBackward, 7},
    {"optimizer.step", OomMoment::kOptimizerStep, 6},
    {"torch/optim/", OomMoment::kOptimizerStep, 8},
    {"bitsandbytes/optim", OomMoment::kOptimizerStep, 8},
    {"_init_group", OomMoment::kOptimizerStep, 8},
    {"exp_avg", OomMoment::kOptimizerStep, 8},
    {"stage_1_and_2.py\", line", OomMoment::kOptimizerStep, 3},
});

}  // namespace

std::span<const OomPhrase> OomPhrases() { return kPhrases; }
std::span<const MomentPhrase> MomentPhrases() { return kMoments; }

std::string_view Name(OomKind kind) {
  switch (kind) {
    case OomKind::kGpu:
      return "gpu";
    case OomKind::kGpuDriver:
      return "gpu_driver";
    case OomKind::kGpuLibrary:
      return "gpu_library";
    case OomKind::kNccl:
      return "nccl";
    case OomKind::kHostAllocator:
      return "host_allocator";
    case OomKind::kHostKilled:
      return "host_killed";
    case OomKind::kPinned:
      return "pinned";
    case OomKind::kShared:
      return "shared_memory";
    case OomKind::kDisk:
      return "disk";
  }
  return "";
}

std::string_view Name(OomMoment moment) {
  switch (moment) {
    case OomMoment::kUnknown:
      return "unknown";
    case OomMoment::kLoad:
      return "load";
    case OomMoment::kInit:
      return "init";
    case OomMoment::kForward:
      return "forward";
    case OomMoment::kLoss:
      return "loss";
    case OomMoment::kBackward:
      return "backward";
    case OomMoment::kOptimizerStep:
      return "optimizer step";
    case OomMoment::kEvaluate:
      return "evaluation";
    case OomMoment::kGenerate:
      return "generation";
    case OomMoment::kSave:
      return "saving";
  }
  return "";
}

}  // namespace trainfit::readers
