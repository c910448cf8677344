// Layers split over tensor ranks as torch's DTensor does it, with the sequence split between them
// (torchtitan models/llama3/infra/parallelize.py apply_tp: Colwise and RowwiseParallel,
// SequenceParallel norms, PrepareModuleInput). A rank sees the model with its share of heads, MLP
// and vocabulary; what lies between attention and MLP is its share of the tokens.
#pragma once

#include <memory>

#include "frameworks/huggingface/layer.h"

namespace trainfit::frameworks::huggingface {

// The model as one tensor rank holds it.
std::shared_ptr<const spec::ModelSpec> TensorShare(const spec::ModelSpec& model,
                                                   std::int64_t ranks);

// Rows of the residual stream on this rank.
inline std::int64_t StreamRows(const plan::Plan& plan) {
  return plan.TokensPerMicroBatch() / plan.parallel.tensor;
}

// Shard(1) -> Replicate, and the sums of all ranks -> Shard(1); backward the other way round.
// Both cut along the sequence, which is not the first dimension: the collective's own buffer is
// rearranged by a copy (torch/distributed/_functional_collectives.py all_gather_tensor,
// reduce_scatter_tensor: chunk, then cat). x itself where nothing is split.
program::Tensor GatherSequence(const Layer& layer, program::Tensor x);
program::Tensor ScatterSequence(const Layer& layer, program::Tensor x);

}  // namespace trainfit::frameworks::huggingface
