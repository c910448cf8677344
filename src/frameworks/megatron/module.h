// What the lowerings of one piece of a stage share: the tape, the plan, and its parameters.
#pragma once

#include <string_view>

#include "frameworks/megatron/ops.h"
#include "frameworks/megatron/parameters.h"
#include "plan/plan.h"

namespace trainfit::frameworks::megatron {

// Tensor labels are static text: names of parts are literals, so they end in a zero.
// NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
inline const char* Label(std::string_view literal) { return literal.data(); }

struct Module {
  Tape& tape;
  const plan::Plan& plan;
  const Parameters& parameters;

  // The parameter as the tape sees it, its main gradient already there; undefined if there is none.
  Tensor Weight(spec::Part part, bool is_bias = false) const;
  // Linears of attention and dense MLPs: over tensor ranks.
  Split TensorSplit() const;
  // Of the router, the shared expert's gate and MLA's down projections: whole on every rank.
  Split NoSplit() const;
  // Of experts.
  Split ExpertSplit() const;
};

// Tokens of a micro-batch on this rank: between linears all of a context rank's, and where norms
// and residuals are, a tensor rank's share of them under sequence parallelism.
std::int64_t TokensInside(const plan::Plan& plan);
std::int64_t TokensOutside(const plan::Plan& plan);

// module.cc
Tensor ApplyNorm(const Module& module, const Tensor& x, spec::Part part, spec::NormKind kind);
// attention.cc: without the norm before and the sum after it.
Tensor ApplyAttention(const Module& module, const spec::LayerKind& kind, const Tensor& x);
// mlp.cc: the same of the feed-forward part.
Tensor ApplyMlp(const Module& module, const spec::LayerKind& kind, const Tensor& x);

}  // namespace trainfit::frameworks::megatron
