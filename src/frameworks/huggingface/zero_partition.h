// What ZeRO's lowerings share: the trained tensors as DeepSpeed's flat buffers see them, and where
// those buffers lie.
#pragma once

#include <cstdint>
#include <vector>

#include "frameworks/huggingface/model_frames.h"
#include "program/tape.h"

namespace trainfit::frameworks::huggingface {

// Buffers of the step as a whole, in the shared frame.
enum class ZeroSlot : std::int32_t {
  kFlatWeights = program::kFirstSharedSlot + 64,
  kMasterWeights,
  kMasterGradients,
  kBucket,
  kSecondBucket,
  kPartitionGradients,
  kNewPartitionGradients,  // of a later micro-step, until it is added
  kFlatGradients,
  kScratch,
  kForeach,
  kGathered,
  kPrefetched,
  kKept,
  kWaitingGradient,
  kHostCopy,
  kHostGradients,
  kHostLargest,
  kGpuLargest,
  kUnpinned,
  kStates,  // the last: one more for each state
};
constexpr program::Slot SlotOf(ZeroSlot slot, std::int32_t more = 0) {
  return {program::kSharedFrame, static_cast<std::int32_t>(slot) + more};
}

// DeepSpeedCPUAdam of `elements` (csrc/includes/cpu_adam.h): reads and writes fp32 weights and
// states, reads the gradient. The copies' stream waits for it as for a copy.
inline void RunHostAdam(program::Tape& tape, std::int64_t elements) {
  constexpr std::int64_t kBytesOfElement = 28;  // seven fp32 numbers
  tape.Run(program::KernelClass::kHostOptimizer, "optimizer step on the host", Flops(),
           Bytes(kBytesOfElement * elements), {}, program::Stream::kCopy);
}

// A buffer that is named by slot.
struct Buffer {
  program::Slot slot;
  Bytes bytes;
  program::Role role = program::Role::kTemporary;
  const char* label = "";
  program::Place place = program::Place::kGpu;
  program::Stream stream = program::Stream::kCompute;
};
void Alloc(program::Tape& tape, const Buffer& buffer);  // nothing when it is empty
void Free(program::Tape& tape, const Buffer& buffer);
void AllocPinned(program::Tape& tape, const Buffer& buffer);  // with the original beside it
void Pass(program::Tape& tape, const Buffer& buffer);         // there and gone

// Elements of every trained tensor, in the order of the module's parameters.
std::vector<std::int64_t> TrainedElements(const ModelFrames& frames);
std::int64_t Sum(const std::vector<std::int64_t>& elements);
std::int64_t Largest(const std::vector<std::int64_t>& elements);

// stage_1_and_2.py: flat groups are padded to a multiple of 2 × ranks (16-bit elements, NCCL's 4
// bytes), so that every rank's partition is equal and aligned.
std::int64_t PaddedToRanks(std::int64_t elements, std::int64_t ranks);

// stage_1_and_2.py get_partition_info: the whole tensors that a rank's partition touches; of all
// ranks the most elements. `partition`: elements of one partition.
std::int64_t MostTouchedElements(const std::vector<std::int64_t>& elements, std::int64_t partition,
                                 std::int64_t ranks);

// stage3.py _create_fp16_sub_groups: a sub-group is closed once it has reached `size`.
std::vector<std::int64_t> SubGroups(const std::vector<std::int64_t>& elements, std::int64_t size);

// Adam's states, or those of another optimizer, of one flat fp32 tensor; the temporary of torch's
// foreach loop over it.
std::vector<Buffer> FlatStates(const plan::Plan& plan, std::int64_t elements, program::Place place);
Buffer ForeachTemporary(const plan::Plan& plan, std::int64_t elements);

// Weights of trained tensors as they were loaded, which the flat buffers replace.
const program::Segment* RecordFreeTrained(const Frame& frame, program::SegmentStore& store);

}  // namespace trainfit::frameworks::huggingface
