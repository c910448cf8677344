#include "frameworks/megatron/parameters.h"

#include <algorithm>

namespace trainfit::frameworks::megatron {
namespace {

using spec::Part;

bool HasBias(const spec::LayerKind& kind, std::initializer_list<Part> parts) {
  return std::any_of(kind.tensors.begin(), kind.tensors.end(), [&](const spec::TensorSpec& tensor) {
    return tensor.is_bias && std::find(parts.begin(), parts.end(), tensor.part) != parts.end();
  });
}

bool Has(const std::vector<spec::TensorSpec>& tensors, Part part) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const spec::TensorSpec& tensor) { return tensor.part == part; });
}

class Builder {
 public:
  Builder(const plan::Plan& plan, const spec::LayerKind& kind)
      : kind_(kind),
        hidden_(plan.model->Text().hidden),
        tensor_(plan.parallel.tensor),
        experts_(kind.mlp.experts / plan.parallel.expert),
        expert_tensor_(plan.parallel.expert_tensor) {}

  Parameters Build() {
    Norm(Part::kInputNorm, hidden_);
    const bool is_latent = kind_.attention.kind == spec::AttentionKind::kLatent;
    is_latent ? LatentAttention() : Attention();
    Norm(Part::kPreMlpNorm, hidden_);
    if (kind_.mlp.kind == spec::MlpKind::kMoe) {
      Experts();
    } else if (kind_.mlp.kind != spec::MlpKind::kNone) {
      Mlp();
    }
    return std::move(parameters_);
  }

 private:
  void Add(Part part, std::int64_t rows, std::int64_t cols, bool is_expert = false) {
    parameters_.push_back({part, false, {rows, cols}, is_expert});
  }
  void AddBias(Part part, std::int64_t size) { parameters_.push_back({part, true, {1, size}}); }

  void Norm(Part part, std::int64_t width) {
    if (kind_.norm == spec::NormKind::kNone) return;
    Add(part, 1, width);
    if (kind_.norm == spec::NormKind::kLayerNorm) AddBias(part, width);
  }

  void Attention() {
    const spec::Attention& attention = kind_.attention;
    const std::int64_t width = attention.heads * attention.head_dim;
    const std::int64_t fused = width + 2 * attention.kv_heads * attention.head_dim;
    Add(Part::kQueryKeyValue, fused / tensor_, hidden_);
    if (HasBias(kind_, {Part::kQuery, Part::kQueryKeyValue})) {
      AddBias(Part::kQueryKeyValue, fused / tensor_);
    }
    if (attention.qk_norm) {
      Norm(Part::kQueryNorm, attention.head_dim);
      Norm(Part::kKeyNorm, attention.head_dim);
    }
    Add(Part::kOutput, hidden_, width / tensor_);
    if (HasBias(kind_, {Part::kOutput})) AddBias(Part::kOutput, hidden_);
  }

  // megatron/core/transformer/multi_latent_attention.py: the down projections are whole on every
  // tensor rank, the up projections split by heads.
  void LatentAttention() {
    const spec::Attention& a = kind_.attention;
    const std::int64_t heads = a.heads / tensor_;
    if (a.query_rank > 0) {
      Add(Part::kQueryDown, a.query_rank, hidden_);
      Norm(Part::kQueryDownNorm, a.query_rank);
      Add(Part::kQueryUp, heads * a.head_dim, a.query_rank);
    } else {
      Add(Part::kQuery, heads * a.head_dim, hidden_);
    }
    Add(Part::kKeyValueDown, a.kv_rank + a.rope_head_dim, hidden_);
    Norm(Part::kKeyValueDownNorm, a.kv_rank);
    Add(Part::kKeyValueUp, heads * (a.head_dim - a.rope_head_dim + a.value_head_dim), a.kv_rank);
    Add(Part::kOutput, hidden_, heads * a.value_head_dim);
  }

  void Mlp() {
    const std::int64_t width = kind_.mlp.intermediate / tensor_;
    const bool is_gated = kind_.mlp.kind == spec::MlpKind::kGated;
    Add(Part::kUp, is_gated ? 2 * width : width, hidden_);
    const bool has_bias = HasBias(kind_, {Part::kUp, Part::kGateUp});
    if (has_bias) AddBias(Part::kUp, is_gated ? 2 * width : width);
    Add(Part::kDown, hidden_, width);
    if (HasBias(kind_, {Part::kDown})) AddBias(Part::kDown, hidden_);
  }

  // megatron/core/transformer/moe: the router is whole on every rank, experts are spread over
  // expert ranks and split over expert-tensor ranks, the shared expert over tensor ranks.
  void Experts() {
    const spec::Mlp& mlp = kind_.mlp;
    const std::int64_t factor = mlp.expert_gated ? 2 : 1;
    Add(Part::kRouter, mlp.experts, hidden_);
    const std::int64_t width = mlp.intermediate / expert_tensor_;
    Add(Part::kExpertUp, experts_ * factor * width, hidden_, true);
    Add(Part::kExpertDown, experts_ * hidden_, width, true);
    if (mlp.shared_intermediate == 0) return;
    const std::int64_t shared = mlp.shared_intermediate / tensor_;
    Add(Part::kSharedUp, factor * shared, hidden_);
    Add(Part::kSharedDown, hidden_, shared);
    if (Has(kind_.tensors, Part::kSharedRouterGate)) Add(Part::kSharedRouterGate, 1, hidden_);
  }

  const spec::LayerKind& kind_;
  std::int64_t hidden_;
  std::int64_t tensor_;
  std::int64_t experts_;  // on this rank
  std::int64_t expert_tensor_;
  Parameters parameters_;
};

}  // namespace

Parameters LayerParameters(const plan::Plan& plan, const spec::LayerKind& kind) {
  return Builder(plan, kind).Build();
}

std::int64_t VocabularyRows(const plan::Plan& plan) {
  constexpr std::int64_t kDivisible = 128;
  const std::int64_t tensor = plan.parallel.tensor;
  return RoundUp(plan.model->vocab, kDivisible * tensor) / tensor;
}

Parameters EmbeddingParameters(const plan::Plan& plan) {
  const spec::Stack& stack = plan.model->Text();
  Parameters parameters = {
      {Part::kTokenEmbedding, false, {VocabularyRows(plan), stack.hidden}, false}};
  for (const spec::TensorSpec& tensor : stack.before) {
    if (tensor.part == Part::kPositionEmbedding) {
      parameters.push_back({tensor.part, false, {tensor.shape[0], stack.hidden}, false});
    }
  }
  if (Has(stack.before, Part::kEmbeddingNorm)) {  // BLOOM (--embed-layernorm)
    parameters.push_back({Part::kEmbeddingNorm, false, {1, stack.hidden}, false});
    parameters.push_back({Part::kEmbeddingNorm, true, {1, stack.hidden}, false});
  }
  return parameters;
}

Parameters HeadParameters(const plan::Plan& plan) {
  const spec::Stack& stack = plan.model->Text();
  Parameters parameters = {{Part::kFinalNorm, false, {1, stack.hidden}, false}};
  if (stack.final_norm == spec::NormKind::kLayerNorm) {
    parameters.push_back({Part::kFinalNorm, true, {1, stack.hidden}, false});
  }
  if (!plan.model->tied_head || plan.parallel.pipeline > 1) {
    parameters.push_back({Part::kHead, false, {VocabularyRows(plan), stack.hidden}, false});
  }
  return parameters;
}

bool MultipliesInFp8(const Parameter& parameter) {
  switch (parameter.part) {
    case Part::kQueryKeyValue:
    case Part::kQuery:
    case Part::kQueryUp:
    case Part::kKeyValueUp:
    case Part::kOutput:
    case Part::kUp:
    case Part::kDown:
    case Part::kExpertUp:
    case Part::kExpertDown:
    case Part::kSharedUp:
    case Part::kSharedDown:
      return !parameter.is_bias;
    default:
      return false;
  }
}

const Parameter* Find(const Parameters& parameters, Part part, bool is_bias) {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) {
    return p.part == part && p.is_bias == is_bias;
  });
  return found == parameters.end() ? nullptr : &*found;
}

}  // namespace trainfit::frameworks::megatron
