// FSDP2 (fully_shard) as accelerate uses it: each layer is a unit, everything else the root unit.
//
// Order and lifetimes are those of torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:
// the gather buffer of a unit lives until the next unit has copied out (forward) or until its own
// copy-out (backward, where the next unit is prefetched); the input of a reduce-scatter lives until
// the next one starts.
#pragma once

#include <span>
#include <vector>

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

// What happens to one unit, each a leaf at the unit's frame.
struct FsdpUnit {
  const program::Segment* gather = nullptr;  // all-gather into one buffer
  const program::Segment* free_gather = nullptr;
  const program::Segment* copy_out = nullptr;  // whole parameters appear
  const program::Segment* reshard = nullptr;   // whole parameters disappear
  const program::Segment* reduce = nullptr;    // gradients → shard, input buffer stays
  const program::Segment* free_reduce_input = nullptr;
  const program::Segment* zero_grad = nullptr;  // shard of the gradients disappears
};

// `frames`: one for a layer, the two ends for the root unit.
FsdpUnit RecordFsdpUnit(std::span<const Frame* const> frames, program::SegmentStore& store);

// DDP: flat buckets beside the gradients (gradient_as_bucket_view=False), made when DDP wraps.
const program::Segment* RecordDdpBuckets(const Frame& frame, program::SegmentStore& store);

}  // namespace trainfit::frameworks::huggingface
