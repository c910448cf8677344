// Layers of encoders and vision towers: LayerNorm, biases everywhere, a plain MLP, no mask.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "readers/config_view.h"
#include "readers/layer_plan.h"

namespace trainfit::readers {

struct EncoderSizes {
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t intermediate = 1;
  std::int64_t layers = 1;
};

// Reads hidden_size, num_attention_heads, intermediate_size and num_hidden_layers; `defaults` are
// the class's. Heads must divide the width.
EncoderSizes ReadEncoderSizes(const ConfigView& config, const EncoderSizes& defaults);

LayerPlan PlanEncoderLayer(const EncoderSizes& sizes, std::span<const NamedPart> parts);

// A stack of equal layers without anything before or after them.
spec::Stack EqualLayers(spec::StackRole role, std::string layer_prefix, const LayerPlan& layer,
                        std::int64_t layers);

// Rows of a head that labels: num_labels, id2label, or transformers' two.
std::int64_t ReadLabels(const ConfigView& root);

}  // namespace trainfit::readers
