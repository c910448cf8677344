// The alphabet of a program: bytes appear, bytes disappear, a kernel runs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "spec/dtype.h"

namespace trainfit::program {

// What bytes are for. Every byte of a breakdown has exactly one role.
enum class Role : std::uint8_t {
  kWeights,
  kAdapterWeights,
  kQuantizationState,  // absmax, code tables
  kMasterWeights,
  kGradients,
  kOptimizerState,
  kActivations,    // saved for backward, or in use by it
  kCheckpoints,    // block inputs that activation checkpointing keeps
  kLogits,         // everything as wide as the vocabulary between head and loss
  kTemporary,      // lives inside one operation
  kWeightCasts,    // autocast's low-precision copies, dequantized matrices
  kCommunication,  // gather and reduce buffers
  kWorkspace,      // cuBLAS and friends, held by the caching allocator
};
inline constexpr int kRoleCount = 13;
std::string_view Name(Role role);

// Where bytes are. Pinned bytes are host bytes as well and count in both.
enum class Place : std::uint8_t { kGpu, kHost, kPinned, kDisk };
inline constexpr int kPlaceCount = 4;
std::string_view Name(Place place);

// Streams whose memory the caching allocator keeps apart.
enum class Stream : std::uint8_t { kCompute, kAllGather, kReduceScatter, kCopy };
inline constexpr int kStreamCount = 4;
// What issues the kernels: the Python of a forward pass; autograd's engine, in C++; or autograd
// Functions that a framework wrote in Python, with a call each way.
enum class Issuer : std::uint8_t { kPython, kEngine, kFunctions };

// A tensor's address in a program: a frame (one layer of one model, the embedding, the head) and a
// number inside it. Frames in events are relative to where the segment is placed, so that one
// segment serves every equal layer.
struct Slot {
  std::int32_t frame = 0;
  std::int32_t index = 0;
  bool operator==(const Slot&) const = default;
};

// Slot numbers come from ranges, so that segments recorded apart can meet at a tensor.
inline constexpr std::int32_t kActivationSlots = 0;    // handed out by one recording
inline constexpr std::int32_t kWeightSlots = 1 << 16;  // + index of the tensor in its layer
inline constexpr std::int32_t kGradientSlots = 2 << 16;
inline constexpr std::int32_t kStateSlots = 3 << 16;  // + kStatesPerTensor × index + state
inline constexpr std::int32_t kStatesPerTensor = 8;
inline constexpr std::int32_t kBoundarySlots = 7 << 16;                 // below
inline constexpr std::int32_t kCarrySlot = kBoundarySlots;              // a frame's output
inline constexpr std::int32_t kCarryGradientSlot = kBoundarySlots + 1;  // gradient of that output
inline constexpr std::int32_t kFirstSharedSlot = kBoundarySlots + 16;   // whole-step tensors
// Frames of micro-batches that are in flight together lie this far apart; within that, a layer has
// its own number in the model.
inline constexpr std::int32_t kMicroBatchFrames = 1 << 16;
// The frame of tensors that belong to the step as a whole (masks, rotary tables, workspaces).
// Never relative.
inline constexpr std::int32_t kSharedFrame = -1'000'000;

// kMove: the bytes at `slot` are called `to` from here on; nothing is allocated or freed.
// kEmptyCache: the GPU's allocator gives back what it holds and does not use.
enum class EventKind : std::uint8_t { kAlloc, kFree, kMove, kRun, kEmptyCache };

struct Event {
  EventKind kind = EventKind::kRun;
  Place place = Place::kGpu;
  Role role = Role::kTemporary;
  Stream stream = Stream::kCompute;
  Slot slot;               // of the bytes; for kRun slot.index is the operation's number
  Slot to;                 // kMove alone
  Bytes bytes;             // as requested, before any rounding; kFree repeats it
  const char* label = "";  // static text: what a person calls this tensor
};

// Kernel classes of the time reading.
enum class KernelClass : std::uint8_t {
  kGemm,
  kAttentionForward,
  kAttentionBackward,
  kElementwise,
  kReduction,
  kOptimizer,
  kDequantize,
  kEmbedding,
  kCollective,
  kCopy,
  kWait,           // no kernel: `stream` goes on when what was issued to `awaited` before is done
  kHostOptimizer,  // the optimizer step on the CPU, as a stage of the copies' stream
  kHostSync,       // no kernel: the host reads a result (.item()), and so waits for `stream`
};
inline constexpr int kKernelClassCount = 13;
std::string_view Name(KernelClass kernel);

// What ranks exchange, in the words of NCCL.
enum class Collective : std::uint8_t {
  kNone,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,
};

// The ranks that exchange it: those that differ in this axis alone. Their number and their places
// in the cluster follow from plan::Parallel.
enum class Group : std::uint8_t {
  kNone,
  kData,  // replicas, or shards of FSDP and ZeRO
  kTensor,
  kPipeline,
  kContext,
  kExpert,
  kExpertData,  // replicas of one expert's weights
  kWorld,
};

// One kernel, or several equal ones in a row, with the work that they do together.
struct Operation {
  KernelClass kernel = KernelClass::kElementwise;
  Stream stream = Stream::kCompute;
  const char* label = "";
  Flops flops;  // 2 per multiply-add
  // Read and written in device memory. Of a collective: the whole buffer, as nccl-tests counts it
  // (all-gather: the output; reduce-scatter: the input; all-to-all: what one rank sends).
  Bytes moved;
  // GEMM: M, N, K of one; attention: query length, heads, head_dim of one sequence.
  std::array<std::int64_t, 3> shape = {0, 0, 0};
  std::int64_t kernels = 1;  // launches, each with an equal share of the work
  std::int64_t groups = 1;   // in one launch: grouped GEMMs (M is their sum), sequences
  spec::Dtype dtype = spec::Dtype::kBf16;  // of what is multiplied
  Issuer issuer = Issuer::kPython;
  bool first_flash = false;   // attention by flash-attention 1, or its Triton port
  bool asynchronous = false;  // attention for Hopper's own instructions: flash-attention 3, cuDNN
  bool recomputed = false;    // done before in the same step: no part of the model's FLOPs
  Collective collective = Collective::kNone;
  Group group = Group::kNone;
  Stream awaited = Stream::kCompute;  // kWait alone
};

}  // namespace trainfit::program
