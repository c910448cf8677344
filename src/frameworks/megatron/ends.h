// The two ends of the model: word and position tables on the first stage; final norm, output matrix
// and loss on the last.
#pragma once

#include "frameworks/megatron/layer.h"

namespace trainfit::frameworks::megatron {

// Placed at frame 0, whose carry slot is its output.
Piece RecordEmbedding(const plan::Plan& plan, program::SegmentStore& store);
// Placed one frame after the last layer.
Piece RecordHead(const plan::Plan& plan, program::SegmentStore& store);

}  // namespace trainfit::frameworks::megatron
