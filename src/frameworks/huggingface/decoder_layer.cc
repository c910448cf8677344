#include "frameworks/huggingface/layer.h"
#include "frameworks/huggingface/tensor_parallel.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Tensor;
using spec::LayerKind;
using spec::NormKind;
using spec::Part;

// nn.Dropout on the residual branch; nothing when the model has none.
Tensor ResidualDropout(const Layer& layer, Tensor x) {
  if (layer.stack.dropout <= 0) return x;
  return program::Dropout(layer.tape, x, "residual dropout");
}

NormKind Kind(const LayerKind& kind, bool is_present) {
  return is_present ? kind.norm : NormKind::kNone;
}

// x + attention(norm(x)), then + mlp(norm(·)); with post-norms each branch is normed again before
// the sum (Gemma-2), or only there (OLMo-2).
Tensor Sequential(const Layer& layer, const LayerKind& kind, Tensor x, const Tensor& cos_sin) {
  {
    const Tensor normed =
        GatherSequence(layer, ApplyNorm(layer, x, Part::kInputNorm, Kind(kind, kind.pre_norms)));
    Tensor attended = ScatterSequence(layer, ApplyAttention(layer, kind, normed, cos_sin));
    if (kind.post_norms) {
      attended = ApplyNorm(layer, attended, Part::kPostAttentionNorm, kind.norm);
    }
    x = program::Add(layer.tape, x, ResidualDropout(layer, std::move(attended)), "residual");
  }
  const Tensor normed =
      GatherSequence(layer, ApplyNorm(layer, x, Part::kPreMlpNorm, Kind(kind, kind.pre_norms)));
  Tensor mlp = ScatterSequence(layer, ApplyMlp(layer, kind, normed));
  if (kind.post_norms) mlp = ApplyNorm(layer, mlp, Part::kPostMlpNorm, kind.norm);
  return program::Add(layer.tape, x, ResidualDropout(layer, std::move(mlp)), "residual");
}

// x + attention(norm(x)) + mlp(norm(x)); one norm serves both branches unless there is a second.
Tensor Parallel(const Layer& layer, const LayerKind& kind, const Tensor& x, const Tensor& cos_sin) {
  const Tensor normed = ApplyNorm(layer, x, Part::kInputNorm, kind.norm);
  const Tensor attended = ResidualDropout(layer, ApplyAttention(layer, kind, normed, cos_sin));
  const bool has_second = layer.frame.Find(Part::kPreMlpNorm) >= 0;
  const Tensor mlp_input = has_second ? ApplyNorm(layer, x, Part::kPreMlpNorm, kind.norm) : normed;
  const Tensor mlp = ResidualDropout(layer, ApplyMlp(layer, kind, mlp_input));
  const Tensor branches = program::Add(layer.tape, mlp, attended, "residual");
  return program::Add(layer.tape, branches, x, "residual");
}

}  // namespace

Tensor ApplyBlock(const Layer& layer, const LayerKind& kind, Tensor x, const Tensor& cos_sin) {
  if (kind.parallel) return Parallel(layer, kind, x, cos_sin);
  return Sequential(layer, kind, std::move(x), cos_sin);
}

}  // namespace trainfit::frameworks::huggingface
