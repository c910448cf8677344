// One kind of layer, recorded: the leaves that a micro-step repeats.
#pragma once

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

struct BlockSegments {
  const program::Segment* forward = nullptr;
  const program::Segment* exit_autocast = nullptr;  // what leaving the autocast region frees
  const program::Segment* backward = nullptr;       // with recomputation under checkpointing
};

// Records `kind` at frame 0: its input is frame -1's carry slot, its output frame 0's.
// `input_wants_gradient`: false for layer 1 over a frozen embedding.
BlockSegments RecordBlock(const plan::Plan& plan, const spec::LayerKind& kind,
                          program::SegmentStore& store, bool input_wants_gradient,
                          bool has_gradients);

}  // namespace trainfit::frameworks::huggingface
