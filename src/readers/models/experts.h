// Mixture-of-experts layers: what their keys are called, and which layers are sparse.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

struct ExpertSizes {
  std::int64_t experts = 1;
  std::int64_t per_token = 1;
  std::int64_t width = 1;
  std::int64_t shared_width = 0;
};

// Numbers of a class that a file leaves out; 0: the file must have them.
struct ExpertDefaults {
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  std::int64_t width = 0;
};

// Complains where a token uses more experts than there are.
void CheckExperts(const ConfigView& config, const ExpertSizes& sizes);
ExpertSizes ReadExperts(const ConfigView& config, const ExpertDefaults& defaults);

// A copy of `layer` with these experts in place of its MLP.
LayerPlan WithExperts(const LayerPlan& layer, const ExpertSizes& sizes,
                      std::span<const NamedPart> parts);

// Sparse layers of DeepSeek's kind: from first_k_dense_replace on, every moe_layer_freq-th.
std::vector<bool> ReadSparseFromFirst(const ConfigView& config, std::int64_t layers,
                                      std::int64_t default_first);
// Sparse layers of Qwen's kind: every decoder_sparse_step-th, less mlp_only_layers.
std::vector<bool> ReadSparseSteps(const ConfigView& config, std::int64_t layers);

// Layers of one dense and one sparse kind.
void ApplySparsity(DecoderPlan* plan, const std::vector<bool>& sparse, const LayerPlan& dense,
                   const LayerPlan& with_experts);

}  // namespace trainfit::readers
