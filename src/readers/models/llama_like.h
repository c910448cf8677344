// The layer that most open decoders are a variation of.
#pragma once

#include "readers/decoder_plan.h"

namespace trainfit::readers {

// Names and order of transformers' LlamaDecoderLayer, query and key norms included.
extern const std::span<const NamedPart> kLlamaLayer;

// PlanDecoder with Llama's layer: RMSNorm before both sub-layers, gated MLP, no biases.
DecoderPlan PlanLlama(ReadContext& context);

// Windows of the Qwen family: in force only with use_sliding_window, from max_window_layers on.
std::vector<std::int64_t> ReadQwenWindows(const ConfigView& config, std::int64_t layers);

// Gives every distinct window a layer kind of its own.
void ApplyWindows(DecoderPlan* plan, const std::vector<std::int64_t>& windows);

}  // namespace trainfit::readers
