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
  // The output matrix, which is Megatron's own even beside Transformer Engine's layers.
  Split VocabularySplit() const;
  // Of the router, the shared expert's gate and MLA's down projections: whole on every rank.
  Split NoSplit() const;
  // Of experts.
  Split ExpertSplit() const;
  // The same linear right after a norm, whose output recomputation may discard. Transformer Engine
  // makes one module of a norm and a dense linear, which keeps it.
  Split AfterNorm(Split split, bool is_one_module) const;
};

// Tokens of a micro-batch on this rank: between linears all of a context rank's, and where norms
// and residuals are, a tensor rank's share of them under sequence parallelism.
std::int64_t TokensInside(const plan::Plan& plan);
std::int64_t TokensOutside(const plan::Plan& plan);

// module.cc
Tensor ApplyNorm(const Module& module, const Tensor& x, spec::Part part, spec::NormKind kind);
// attention.cc: without the norm before and the sum after it.
Tensor ApplyAttention(const Module& module, const spec::LayerKind& kind, const Tensor& x);
// mla.cc: multi-head latent attention, likewise.
Tensor ApplyLatentAttention(const Module& module, const spec::LayerKind& kind, const Tensor& x);
// attention.cc: attention on separate queries, keys and values.
Tensor Attend(const Module& module, const spec::Attention& attention, Tensor query, Tensor key,
              Tensor value);
// moe.cc: router, exchange, experts, shared expert.
Tensor ApplyMoe(const Module& module, const spec::LayerKind& kind, const Tensor& x);
// Whether selective recomputation covers this module.
bool Recomputes(const plan::Plan& plan, spec::Recompute what);

// mlp.cc: the same of the feed-forward part.
Tensor ApplyMlp(const Module& module, const spec::LayerKind& kind, const Tensor& x);

}  // namespace trainfit::frameworks::megatron
