// Routed experts as transformers runs them (integrations/moe.py grouped_mm_experts_forward;
// before 5.0 a loop over experts in the model file). Each token counts experts_per_token times; how
// the tokens are spread over the experts changes no sum on one rank.
#include <algorithm>

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

// Rows sorted by expert through the experts' matrices. Quantized ones are modules of their own: one
// expert's matrix is dequantized at a time, the rows add up to the same.
Tensor ExpertLinear(const Layer& layer, const Tensor& rows, Part part, std::int64_t out,
                    const char* label) {
  const std::int32_t i = layer.frame.Find(part);
  CHECK(i >= 0) << "the layer has no " << Name(part);
  if (layer.frame.held(i).quantized_4bit) return QuantizedLinear(layer, rows, out, label);
  return program::GroupedLinear(layer.tape, rows, layer.tape.Parameter(layer.frame.WeightLeaf(i)),
                                out, label);
}

// act(gate) * up; the fused form computes both in one product and takes views of it.
Tensor ExpertHidden(const Layer& layer, const spec::Mlp& mlp, const Tensor& rows) {
  program::Tape& tape = layer.tape;
  const std::int64_t i = mlp.intermediate;
  if (layer.frame.Find(Part::kExpertGateUp) >= 0) {
    const Tensor fused = ExpertLinear(layer, rows, Part::kExpertGateUp, 2 * i, "experts gate, up");
    const auto halves = program::SplitColumns(tape, fused, {i, i, 0}, "split gate, up");
    return program::Multiply(tape, ApplyActivation(layer, mlp.activation, halves[0]), halves[1],
                             "expert gate × up");
  }
  const Tensor act = ApplyActivation(
      layer, mlp.activation, ExpertLinear(layer, rows, Part::kExpertGate, i, "experts gate"));
  const Tensor up = ExpertLinear(layer, rows, Part::kExpertUp, i, "experts up");
  return program::Multiply(tape, act, up, "expert gate × up");
}

// All experts at once: rows sorted by expert, one grouped product a matrix.
Tensor GroupedExperts(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const Routing routing = Route(layer, mlp, x);
  const std::int64_t pairs = x.rows() * mlp.experts_per_token;
  Tensor out;
  {
    const Tensor rows = program::GatherRows(tape, x, pairs, routing.indices, "rows by expert");
    const auto hidden = [&] { return ExpertHidden(layer, mlp, rows); };
    out = ExpertLinear(layer, hidden(), Part::kExpertDown, x.cols(), "experts down");
    out = program::Multiply(tape, out, routing.weights, "weighted rows");
  }
  const Tensor inverse = tape.New({pairs, 1}, Dtype::kInt64, Role::kActivations, "original order");
  out = program::GatherRows(tape, out, pairs, inverse, "original order");
  out = program::SumExperts(tape, out, x.rows(), "sum of experts");
  return program::Cast(tape, out, x.dtype(), "sum of experts");
}

// One expert after the other (transformers 4.45 models/mixtral/modeling_mixtral.py
// MixtralSparseMoeBlock.forward): its rows are gathered, and added to the output in place. In
// backward the gradients of one expert's rows are gone before the next one's are made. Of very many
// experts several share a round: what lives through one is small by then.
constexpr std::int64_t kMostRounds = 16;

Tensor LoopedExperts(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  program::Tape& tape = layer.tape;
  const Routing routing = Route(layer, mlp, x);
  const std::int64_t pairs = x.rows() * mlp.experts_per_token;
  const std::int64_t rounds = std::clamp<std::int64_t>(mlp.experts, 1, kMostRounds);
  const std::int64_t share = std::max<std::int64_t>(1, pairs / rounds);
  // one_hot(selected_experts): an int64 for each expert and pair.
  const Tensor mask =
      tape.New({pairs, mlp.experts}, Dtype::kInt64, Role::kActivations, "expert mask");
  Tensor out = tape.New({x.rows(), x.cols()}, x.dtype(), Role::kActivations, "sum of experts");
  for (std::int64_t round = 0; round < rounds; ++round) {
    Tensor result;
    {
      const Tensor indices = tape.New({share, 1}, Dtype::kInt64, Role::kActivations, "top_x");
      const Tensor rows = program::GatherRows(tape, x, share, indices, "rows of an expert");
      const auto hidden = [&] { return ExpertHidden(layer, mlp, rows); };
      result = ExpertLinear(layer, hidden(), Part::kExpertDown, x.cols(), "experts down");
      const Tensor weights =
          program::GatherRows(tape, routing.weights, share, indices, "weights of an expert");
      result = program::Multiply(tape, result, weights, "weighted rows");
      result = program::Cast(tape, result, x.dtype(), "weighted rows");
      out = program::IndexAdd(tape, out, result, indices, "sum of experts");
    }
  }
  return out;
}

Tensor RoutedExperts(const Layer& layer, const spec::Mlp& mlp, const Tensor& x) {
  return layer.plan.facts.Is(plan::Fact::kExpertsFused) ? GroupedExperts(layer, mlp, x)
                                                        : LoopedExperts(layer, mlp, x);
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
