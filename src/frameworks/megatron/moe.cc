// Experts over expert ranks with the all-to-all dispatcher (megatron/core/transformer/moe:
// moe_layer.py, token_dispatcher.py MoEAlltoAllTokenDispatcher, experts.py TEGroupedMLP).
#include <cmath>

#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Role;
using spec::Dtype;
using spec::Part;

struct Routing {
  Tensor probabilities;  // of each row that goes to an expert, fp32
  Tensor indices;        // of these rows
};

// router.py TopKRouter.forward: logits and scores in fp32; a table of probabilities and a map of
// choices, tokens × experts, are kept for the way back.
Routing Route(const Module& module, const spec::Mlp& mlp, const Tensor& x) {
  Tape& tape = module.tape;
  const std::int64_t rows = x.rows() * mlp.experts_per_token;
  const Tensor logits =
      ColumnLinear(tape, x, module.Weight(Part::kRouter), {},
                   module.AfterNorm(module.NoSplit(), false), Label(Name(Part::kRouter)));
  const Tensor scores =
      program::Softmax(tape, program::Cast(tape, logits, Dtype::kFp32, "router"), "router scores");
  const Tensor map =
      tape.New({x.rows(), mlp.experts}, Dtype::kBool, Role::kActivations, "routing map");
  const Tensor table = program::GatherRows(tape, scores, x.rows(), map, "router probabilities");
  Routing routing;
  routing.indices = tape.New({rows, 1}, Dtype::kInt64, Role::kActivations, "rows by expert");
  routing.probabilities = program::GatherRows(tape, tape.View(table, {table.elements(), 1}), rows,
                                              routing.indices, "probabilities by expert");
  return routing;
}

// Rows that this rank's experts get: as many as it sends, or more where experts are busier.
std::int64_t RowsOfExperts(const plan::Plan& plan, std::int64_t sent) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(sent) * plan.expert_imbalance));
}

Tensor Activate(const Module& module, const spec::Mlp& mlp, const Tensor& up,
                const Tensor& probabilities) {
  Tape& tape = module.tape;
  if (mlp.expert_gated) return WeightedGatedActivation(tape, up, probabilities, "expert swiglu");
  const Tensor active = program::Activate(tape, up, Label(Name(mlp.activation)));
  const Tensor weighted = program::Multiply(tape, active, probabilities, "weighted by routing");
  return program::Cast(tape, weighted, up.dtype(), "weighted by routing");
}

Tensor Experts(const Module& module, const spec::Mlp& mlp, const Tensor& rows,
               const Tensor& probabilities) {
  Tape& tape = module.tape;
  const Split split = module.ExpertSplit();
  const std::int64_t width = mlp.intermediate / split.ranks;
  const auto activated = [&] {
    const Tensor up = GroupedLinear(tape, rows, module.Weight(Part::kExpertUp),
                                    mlp.expert_gated ? 2 * width : width, split, "experts up");
    return Activate(module, mlp, up, probabilities);
  };
  Split down = split;
  down.keeps_input = !Recomputes(module.plan, spec::Recompute::kMoeActivation);
  return GroupedLinear(tape, activated(), module.Weight(Part::kExpertDown), rows.cols(), down,
                       "experts down");
}

// Permute, exchange, sort, experts, and all of it back.
Tensor Routed(const Module& module, const spec::Mlp& mlp, const Tensor& x) {
  Tape& tape = module.tape;
  const plan::Plan& plan = module.plan;
  const std::int64_t ranks = plan.parallel.expert;
  const Split split = module.ExpertSplit();
  const bool sorts = mlp.experts / ranks > 1;
  const Routing routing = Route(module, mlp, x);
  const std::int64_t sent = x.rows() * mlp.experts_per_token;
  const std::int64_t received = RowsOfExperts(plan, sent);
  const auto dispatched = [&] {
    const Tensor own = program::GatherRows(tape, x, sent, routing.indices, "permuted tokens");
    const Tensor global = AllToAll(tape, own, ranks, received, "tokens to experts");
    const Tensor all = GatherFromRanks(tape, global, split, "tokens of all tensor ranks");
    return sorts ? program::CopyColumns(tape, all, all.cols(), "sorted by expert") : all;
  };
  const auto probabilities = [&] {
    const Tensor global =
        AllToAll(tape, routing.probabilities, ranks, received, "probabilities to experts");
    return GatherFromRanks(tape, global, split, "probabilities of all tensor ranks");
  };
  const auto combined = [&] {
    Tensor rows = dispatched();
    Tensor out = Experts(module, mlp, rows, probabilities());
    rows.reset();
    if (sorts) out = program::CopyColumns(tape, out, out.cols(), "original order");
    out = ReduceToRanks(tape, out, split, "sum over tensor ranks");
    return AllToAll(tape, out, ranks, sent, "tokens from experts");
  };
  return Unpermute(tape, combined(), x.rows(), routing.indices, "sum of experts");
}

// shared_experts.py: an MLP over tensor ranks, behind a sigmoid gate in Qwen2-MoE.
Tensor Shared(const Module& module, const Tensor& x, bool is_gated) {
  Tape& tape = module.tape;
  const Split split = module.TensorSplit();
  const auto activated = [&] {
    const Tensor up = ColumnLinear(tape, x, module.Weight(Part::kSharedUp), {},
                                   module.AfterNorm(split, false), Label(Name(Part::kSharedUp)));
    return is_gated ? GatedActivation(tape, up, "shared swiglu")
                    : program::Activate(tape, up, "shared activation");
  };
  Tensor out = RowLinear(tape, activated(), module.Weight(Part::kSharedDown), split,
                         Label(Name(Part::kSharedDown)));
  const Tensor weight = module.Weight(Part::kSharedRouterGate);
  if (!weight.defined()) return out;
  const Tensor gate = program::Squash(
      tape, ColumnLinear(tape, x, weight, {}, module.NoSplit(), "shared gate"), "shared gate");
  return program::Multiply(tape, out, gate, "shared gate");
}

}  // namespace

Tensor ApplyMoe(const Module& module, const spec::LayerKind& kind, const Tensor& x) {
  const spec::Mlp& mlp = kind.mlp;
  Tensor shared;
  if (mlp.shared_intermediate > 0) shared = Shared(module, x, mlp.expert_gated);
  Tensor routed = Routed(module, mlp, x);
  if (!shared.defined()) return routed;
  return program::Add(module.tape, routed, shared, "routed + shared");
}

}  // namespace trainfit::frameworks::megatron
