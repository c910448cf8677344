// Vision towers, as stacks of their own; `base` is the module's name in front of every tensor.
#pragma once

#include <string>
#include <vector>

#include "readers/config_view.h"
#include "spec/model.h"

namespace trainfit::readers {

// CLIP: class vector, patches without bias, norms before and after the layers.
spec::Stack ClipVision(const ConfigView& config, const std::string& base);
// SigLIP: no class vector; an attention-pooling head unless vision_use_head is false.
spec::Stack SiglipVision(const ConfigView& config, const std::string& base, bool default_head);
// Idefics3 and SmolVLM: SigLIP's layers in CLIP's order, no pooling head.
spec::Stack Idefics3Vision(const ConfigView& config, const std::string& base);
// Pixtral: RMSNorm, gated MLP, rotary positions.
spec::Stack PixtralVision(const ConfigView& config, const std::string& base);
// Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5 towers with their patch mergers.
spec::Stack Qwen2Vision(const ConfigView& config, const std::string& base);
spec::Stack Qwen25Vision(const ConfigView& config, const std::string& base);
spec::Stack Qwen3Vision(const ConfigView& config, const std::string& base);
// InternVL's tower (vision_internvl.cc): scaled sub-layers, norms of queries and keys in some
// sizes.
spec::Stack InternVlVision(const ConfigView& config, const std::string& base);
// Gemma 4's tower: Gemma's layers without a mask, positions in two dimensions.
spec::Stack Gemma4Vision(const ConfigView& config, const std::string& base);
// Llama 4's tower with its pixel-shuffle adapter.
spec::Stack Llama4Vision(const ConfigView& config, const std::string& base);
// Llama 3.2 Vision's tower: a stack of local and one of gated global layers, embeddings of tiles.
std::vector<spec::Stack> MllamaVision(const ConfigView& config, const std::string& base);

}  // namespace trainfit::readers
