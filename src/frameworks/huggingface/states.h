// What is held per parameter: weights as loaded, adapters, gradients, optimizer states.
#pragma once

#include <vector>

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

// One tensor that trains.
struct Trained {
  std::int32_t number = 0;  // for Frame::GradientSlot and StateSlot
  std::int64_t elements = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  spec::Dtype dtype = spec::Dtype::kFp32;
  bool is_embedding = false;
  const char* label = "";
};
std::vector<Trained> TrainedTensors(const Frame& frame);

// The part of a matrix that one rank holds. FSDP2 shards each parameter along its rows, padded to
// the ranks (torch/distributed/fsdp/_fully_shard/_fsdp_param.py); FSDP1 cuts a unit's parameters,
// laid end to end, into equal pieces, so that a rank's share of one is flat
// (torch/distributed/fsdp/_flat_param.py, FlatParamHandle.shard). ZeRO-3 cuts each parameter by
// itself, padded to the ranks (deepspeed zero/partition_parameters.py, _padding_size).
program::Shape Shard(const plan::Plan& plan, program::Shape whole);
inline std::int64_t Elements(program::Shape shape) { return shape.rows * shape.cols; }
// Whether FSDP cuts packed words and zeros that come in groups; their scales stay whole.
bool ShardsGroupedWords(const plan::Plan& plan);
// What FSDP gathers of the quantized tensor i: nothing where its words are buffers.
Bytes GatheredWords(const Frame& frame, std::int32_t i);
// Where weights lie between steps: elsewhere than on the GPU under ZeRO-3's offload_param.
program::Place WeightPlace(const plan::Plan& plan);
Bytes ShardBytes(const plan::Plan& plan, program::Shape whole, spec::Dtype dtype);

// The allocations that the plan's optimizer makes for one tensor.
std::vector<Bytes> StateSizes(const Trained& trained, const plan::Plan& plan);

// Base weights as they lie on the GPU after loading. 4-bit weights pass through a full-precision
// copy of one matrix at a time.
const program::Segment* RecordLoad(const Frame& frame, const plan::Plan& plan,
                                   program::SegmentStore& store);
// LoRA adapters, created when PEFT wraps the model.
const program::Segment* RecordAdapters(const Frame& frame, program::SegmentStore& store);
// Optimizer states, created in the first step.
const program::Segment* RecordStates(const Frame& frame, const plan::Plan& plan,
                                     program::SegmentStore& store);
// Parameter-sized temporaries of one optimizer step, allocated (`allocate`) or freed.
const program::Segment* RecordForeachTemporaries(const Frame& frame, const plan::Plan& plan,
                                                 program::SegmentStore& store, bool allocate);
// Gradients are scaled down to a norm of 1.
const program::Segment* RecordClip(const Frame& frame, program::SegmentStore& store);
// The update of each tensor in turn: kernels, and temporaries of one tensor's size.
const program::Segment* RecordUpdate(const Frame& frame, const plan::Plan& plan,
                                     program::SegmentStore& store);
// zero_grad(set_to_none=True)
const program::Segment* RecordZeroGrad(const Frame& frame, program::SegmentStore& store);

}  // namespace trainfit::frameworks::huggingface
