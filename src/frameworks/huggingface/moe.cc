// Routed experts as transformers runs them (integrations/moe.py grouped_mm_experts_forward;
// before 5.0 a loop over experts in the model file). Each token counts experts_per_token times; how
// the tokens are spread over the experts changes no sum on one rank.
#include "base/check.h"
#include "frameworks/huggingface/layer.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Role;
using program::Tensor;
using spec::Dtype;
using spec::Part;

struct Routing {
  Tensor weights;  // tokens · k × 1
  Tensor indices;  // of the rows, sorted by expert
};

// Router: logits, softmax in fp32, top-k, normalized. (MixtralTopKRouter.forward)
Routing Route(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const std::int64_t pairs = x.rows() * mlp.experts_per_token;
  const Tensor logits = ApplyLinear(layer, x, Part::kRouter);
  const Tensor probabilities =
      program::Softmax(tape, program::Cast(tape, logits, Dtype::kFp32, "router"), "router softmax");
  const Tensor indices = tape.New({pairs, 1}, Dtype::kInt64, Role::kActivations, "top-k");
  const Tensor top = program::GatherRows(
      tape, tape.View(probabilities, {probabilities.elements(), 1}), pairs, indices, "top-k");
  const Tensor normalized = program::Scale(tape, top, "top-k");
  Routing routing;
  routing.indices = tape.New({pairs, 1}, Dtype::kInt64, Role::kActivations, "sorted by expert");
  routing.weights =
      program::GatherRows(tape, normalized, pairs, routing.indices, "weights by expert");
  return routing;
}

Tensor ExpertWeight(const Layer& layer, Part part) {
  const std::int32_t i = layer.frame.Find(part);
  CHECK(i >= 0) << "the layer has no " << Name(part);
  return layer.tape.Parameter(layer.frame.WeightLeaf(i));
}

// act(gate) * up; the fused form computes both in one product and takes views of it.
Tensor ExpertHidden(const Layer& layer, const spec::Mlp& mlp, const Tensor& rows) {
  program::Tape& tape = layer.tape;
  const std::int64_t i = mlp.intermediate;
  if (layer.frame.Find(Part::kExpertGateUp) >= 0) {
    const Tensor fused = program::GroupedLinear(
        tape, rows, ExpertWeight(layer, Part::kExpertGateUp), 2 * i, "experts gate, up");
    const auto halves = program::SplitColumns(tape, fused, {i, i, 0}, "split gate, up");
    return program::Multiply(tape, ApplyActivation(layer, mlp.activation, halves[0]), halves[1],
                             "expert gate × up");
  }
  const Tensor act =
      ApplyActivation(layer, mlp.activation,
                      program::GroupedLinear(tape, rows, ExpertWeight(layer, Part::kExpertGate), i,
                                             "experts gate"));
  const Tensor up =
      program::GroupedLinear(tape, rows, ExpertWeight(layer, Part::kExpertUp), i, "experts up");
  return program::Multiply(tape, act, up, "expert gate × up");
}

Tensor RoutedExperts(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const Routing routing = Route(layer, mlp, x);
  const std::int64_t pairs = x.rows() * mlp.experts_per_token;
  Tensor out;
  {
    const Tensor rows = program::GatherRows(tape, x, pairs, routing.indices, "rows by expert");
    const auto hidden = [&] { return ExpertHidden(layer, mlp, rows); };
    out = program::GroupedLinear(tape, hidden(), ExpertWeight(layer, Part::kExpertDown), x.cols(),
                                 "experts down");
    out = program::Multiply(tape, out, routing.weights, "weighted rows");
  }
  if (layer.plan.facts.Is(plan::Fact::kExpertsFused)) {
    const Tensor inverse =
        tape.New({pairs, 1}, Dtype::kInt64, Role::kActivations, "original order");
    out = program::GatherRows(tape, out, pairs, inverse, "original order");
  }
  out = program::SumExperts(tape, out, x.rows(), "sum of experts");
  return program::Cast(tape, out, x.dtype(), "sum of experts");
}

// The expert that every token uses, behind a sigmoid gate in Qwen2-MoE.
Tensor SharedExpert(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const auto hidden = [&] {
    const Tensor act =
        ApplyActivation(layer, mlp.activation, ApplyLinear(layer, x, Part::kSharedGate));
    return program::Multiply(tape, act, ApplyLinear(layer, x, Part::kSharedUp), "gate × up");
  };
  Tensor out = ApplyLinear(layer, hidden(), Part::kSharedDown);
  if (layer.frame.Find(Part::kSharedRouterGate) >= 0) {
    const Tensor gate =
        program::Squash(tape, ApplyLinear(layer, x, Part::kSharedRouterGate), "shared expert gate");
    out = program::Multiply(tape, out, gate, "shared expert gate");
  }
  return out;
}

}  // namespace

Tensor ApplyMoe(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  Tensor shared;
  if (mlp.shared_intermediate > 0) shared = SharedExpert(layer, mlp, x);
  Tensor routed = RoutedExperts(layer, mlp, x);
  if (!shared.defined()) return routed;
  return program::Add(layer.tape, routed, shared, "routed + shared");
}

}  // namespace trainfit::frameworks::huggingface
