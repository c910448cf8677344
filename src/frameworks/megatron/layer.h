// One transformer layer of a stage, recorded: the leaves that a micro-batch repeats.
#pragma once

#include "plan/plan.h"
#include "program/segment.h"

namespace trainfit::frameworks::megatron {

struct Piece {
  const program::Segment* forward = nullptr;
  const program::Segment* backward = nullptr;  // with recomputation under checkpointing
};

// Records `kind` at frame 0: its input is frame -1's carry slot, its output frame 0's.
// `recomputed`: only the input is kept, and the layer runs again in backward.
Piece RecordLayer(const plan::Plan& plan, const spec::LayerKind& kind, bool recomputed,
                  program::SegmentStore& store);

}  // namespace trainfit::frameworks::megatron
