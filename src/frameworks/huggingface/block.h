// One kind of layer, recorded: the leaves that a micro-step repeats.
#pragma once

#include <optional>

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

struct BlockSegments {
  const program::Segment* forward = nullptr;
  const program::Segment* exit_autocast = nullptr;  // what leaving the autocast region frees
  const program::Segment* backward = nullptr;       // with recomputation under checkpointing
  // What FSDP1 holds beyond the block's backward (sharding.h, HoldsInputs); nullptr: nothing.
  const program::Segment* release_input = nullptr;
  const program::Segment* release_gradient = nullptr;  // the one that came in from above
  spec::Dtype output = spec::Dtype::kBf16;             // of the residual stream after the block
};

// Records `kind` at frame 0: its input is frame -1's carry slot, its output frame 0's.
// `input_wants_gradient`: false for layer 1 over a frozen embedding. `input`: dtype of the residual
// stream before the block; absent: that of the embedding's weight. A branch that ends in fp32 (a
// 4-bit linear returns the dtype of its input, which under autocast is a layer norm's fp32)
// promotes the stream from there on.
BlockSegments RecordBlock(const plan::Plan& plan, const spec::LayerKind& kind,
                          program::SegmentStore& store, bool input_wants_gradient,
                          bool has_gradients, std::optional<spec::Dtype> input = std::nullopt);

}  // namespace trainfit::frameworks::huggingface
