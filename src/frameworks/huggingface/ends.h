// The two ends of a decoder: embedding before layer 1, final norm + head + loss after the last.
#pragma once

#include <cstdint>
#include <optional>

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

// Leaves of one end of a micro-step.
struct EndSegments {
  const program::Segment* forward = nullptr;
  const program::Segment* exit_autocast = nullptr;
  const program::Segment* backward = nullptr;
  spec::Dtype output = spec::Dtype::kBf16;  // of the embedding's output
};

// Slot bases of the ends' tensors in the shared frame.
inline constexpr std::int32_t kBeforeBase = 0;
inline constexpr std::int32_t kAfterBase = 256;

Frame BeforeFrame(const plan::Plan& plan, bool has_gradients);
Frame AfterFrame(const plan::Plan& plan, bool has_gradients);

// Whether the input of layer 1 carries a gradient: the embedding trains, or PEFT made it require
// one for checkpointing (enable_input_require_grads).
bool InputWantsGradient(const plan::Plan& plan);

// Batch, embedding, rotary tables; placed at frame 0, whose output is its carry slot.
EndSegments RecordEmbedding(const plan::Plan& plan, program::SegmentStore& store,
                            bool has_gradients);
// Placed one frame after the last layer. `input`: dtype of the residual stream after the last
// layer; absent: that of the embedding's weight.
EndSegments RecordHead(const plan::Plan& plan, program::SegmentStore& store, bool has_gradients,
                       std::optional<spec::Dtype> input = std::nullopt);

}  // namespace trainfit::frameworks::huggingface
