#include "readers/models/experts.h"

#include <fmt/format.h>

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;
using spec::MlpKind;

const Keys kExpertKeys = {"num_local_experts", "num_experts", "n_routed_experts",
                          "moe_num_experts"};
const Keys kPerTokenKeys = {
    "num_experts_per_tok", "experts_per_token", "moe_topk", "moe_top_k", "moe_k", "top_k_experts"};
const Keys kWidthKeys = {"moe_intermediate_size", "expert_ffn_hidden_size"};

}  // namespace

ExpertSizes ReadExperts(const ConfigView& config, const ExpertDefaults& defaults) {
  ExpertSizes sizes;
  sizes.experts = config.Size(kExpertKeys, defaults.experts);
  sizes.per_token = defaults.per_token > 0 ? config.SizeOr(kPerTokenKeys, defaults.per_token)
                                           : config.Size(kPerTokenKeys);
  sizes.width =
      defaults.width > 0 ? config.SizeOr(kWidthKeys, defaults.width) : config.Size(kWidthKeys);
  CheckExperts(config, sizes);
  return sizes;
}

void CheckExperts(const ConfigView& config, const ExpertSizes& sizes) {
  if (sizes.per_token <= sizes.experts) return;
  config.Reject(kPerTokenKeys, "too-many-experts",
                fmt::format("a token uses {} experts, but a layer has only {}", sizes.per_token,
                            sizes.experts));
}

LayerPlan WithExperts(const LayerPlan& layer, const ExpertSizes& sizes,
                      std::span<const NamedPart> parts) {
  LayerPlan sparse = layer;
  sparse.parts = parts;
  sparse.kind.mlp.kind = MlpKind::kMoe;
  sparse.kind.mlp.intermediate = sizes.width;
  sparse.kind.mlp.experts = sizes.experts;
  sparse.kind.mlp.experts_per_token = sizes.per_token;
  sparse.kind.mlp.shared_intermediate = sizes.shared_width;
  sparse.kind.fused_gate_up_storage = false;
  return sparse;
}

std::vector<bool> ReadSparseFromFirst(const ConfigView& config, std::int64_t layers,
                                      std::int64_t default_first) {
  const std::int64_t first = config.CountOr({"first_k_dense_replace"}, default_first);
  const std::int64_t step = config.SizeOr({"moe_layer_freq"}, 1);
  std::vector<bool> sparse(static_cast<std::size_t>(layers));
  for (std::int64_t l = first; l < layers; ++l) {
    sparse[static_cast<std::size_t>(l)] = l % step == 0;
  }
  // Files of transformers 5 list the layers: configuration_glm4_moe_lite.py.
  const Node* types = config.Find({"mlp_layer_types"});
  for (std::size_t l = 0; types != nullptr && l < sparse.size() && l < types->items.size(); ++l) {
    sparse[l] = types->items[l].text == "sparse";
  }
  return sparse;
}

std::vector<bool> ReadSparseSteps(const ConfigView& config, std::int64_t layers) {
  const std::int64_t step = config.SizeOr({"decoder_sparse_step"}, 1);
  std::vector<bool> sparse(static_cast<std::size_t>(layers));
  for (std::int64_t l = 0; l < layers; ++l) {
    sparse[static_cast<std::size_t>(l)] = (l + 1) % step == 0;
  }
  const Node* dense = config.Find({"mlp_only_layers"});
  if (dense == nullptr) return sparse;
  for (const Node& layer : dense->items) {
    if (layer.kind != NodeKind::kInt || layer.integer < 0 || layer.integer >= layers) continue;
    sparse[static_cast<std::size_t>(layer.integer)] = false;
  }
  return sparse;
}

void ApplySparsity(DecoderPlan* plan, const std::vector<bool>& sparse, const LayerPlan& dense,
                   const LayerPlan& with_experts) {
  const auto is_sparse = [&](std::int64_t l) -> bool {
    return sparse[static_cast<std::size_t>(l)];
  };
  plan->Vary(is_sparse, [&](std::int64_t l) { return is_sparse(l) ? with_experts : dense; });
}

}  // namespace trainfit::readers
