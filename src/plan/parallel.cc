// How a model is split over ranks: tensor, pipeline, context and expert parallelism.
#include <fmt/core.h>

#include <algorithm>

#include "plan/plan.h"

namespace trainfit::plan {
namespace {

using spec::Parallelism;

class Splitter {
 public:
  Splitter(const Parallelism& asked, const spec::Machine& machine, Plan& plan, Diagnostics& errors)
      : asked_(asked), gpus_(machine.Gpus()), plan_(plan), errors_(errors) {}

  void Run() {
    if (!CheckSizes()) return;
    Parallel& parallel = plan_.parallel;
    parallel.tensor = asked_.tensor;
    parallel.pipeline = asked_.pipeline;
    parallel.virtual_stages = asked_.virtual_stages;
    parallel.context = asked_.context;
    parallel.expert = asked_.expert;
    parallel.expert_tensor = asked_.expert_tensor.value_or(asked_.tensor);
    parallel.order = asked_.order;
    parallel.sequence = asked_.sequence_parallel.value_or(false);
    Replicas();
    if (!errors_.empty()) return;
    Experts();
    Heads();
    Sequence();
    Stages();
  }

 private:
  void Refuse(std::string code, std::string message, std::string hint = "") {
    errors_.push_back(Error(std::move(code), std::move(message), std::move(hint)));
  }

  bool CheckSizes() {
    struct Axis {
      const char* what;
      std::int64_t size;
    };
    const Axis axes[] = {{"tensor parallelism", asked_.tensor},
                         {"pipeline parallelism", asked_.pipeline},
                         {"the number of virtual stages", asked_.virtual_stages},
                         {"context parallelism", asked_.context},
                         {"expert parallelism", asked_.expert},
                         {"tensor parallelism of experts", asked_.expert_tensor.value_or(1)}};
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    for (const Axis& axis : axes) {
      if (axis.size >= 1 && axis.size <= kMost) continue;
      Refuse("size-out-of-range",
             fmt::format("{} is {}; it must be between 1 and {}", axis.what, axis.size, kMost));
    }
    return errors_.empty();
  }

  void Replicas() {
    const std::int64_t copy = asked_.tensor * asked_.pipeline * asked_.context;
    if (gpus_ % copy != 0) {
      Refuse("contradiction",
             fmt::format("one copy of the model takes {} GPUs (tensor {} × pipeline {} × context "
                         "{}), which does not divide the {} there are",
                         copy, asked_.tensor, asked_.pipeline, asked_.context, gpus_),
             fmt::format("--on with a multiple of {} GPUs", copy));
      return;
    }
    plan_.parallel.data = gpus_ / copy;
  }

  void Experts() {
    const Parallel& parallel = plan_.parallel;
    std::int64_t experts = 0;
    for (const spec::LayerKind& kind : plan_.model->Text().kinds) {
      if (kind.mlp.kind == spec::MlpKind::kMoe) experts = kind.mlp.experts;
    }
    if (experts == 0) {
      if (parallel.expert > 1) {
        Refuse("contradiction", fmt::format("{} has no experts to spread", plan_.model->id),
               "--ep 1");
      }
      plan_.parallel.expert_tensor = parallel.tensor;
      return;
    }
    if (experts % parallel.expert != 0) {
      Refuse("contradiction", fmt::format("{} experts cannot be spread evenly over {} ranks",
                                          experts, parallel.expert));
    }
    const std::int64_t ranks = parallel.data * parallel.context * parallel.tensor;
    if (ranks % (parallel.expert * parallel.expert_tensor) != 0) {
      Refuse("contradiction",
             fmt::format("expert {} × expert tensor {} does not divide the {} GPUs of a stage",
                         parallel.expert, parallel.expert_tensor, ranks));
    }
  }

  void Heads() {
    const std::int64_t tensor = plan_.parallel.tensor;
    for (const spec::LayerKind& kind : plan_.model->Text().kinds) {
      const spec::Attention& attention = kind.attention;
      if (attention.kind == spec::AttentionKind::kNone) continue;
      if (attention.heads % tensor != 0) {
        Refuse("contradiction", fmt::format("{} heads cannot be split evenly by tensor {}",
                                            attention.heads, tensor));
        return;
      }
      if (attention.kind == spec::AttentionKind::kSoftmax && attention.kv_heads % tensor != 0) {
        Refuse("not-simulated",
               fmt::format("{} key/value heads under tensor {}: copies of them cannot be "
                           "simulated yet",
                           attention.kv_heads, tensor));
        return;
      }
      if (kind.mlp.kind != spec::MlpKind::kMoe && kind.mlp.intermediate % tensor != 0) {
        Refuse("contradiction", fmt::format("an MLP of width {} cannot be split evenly by tensor "
                                            "{}",
                                            kind.mlp.intermediate, tensor));
        return;
      }
    }
  }

  // megatron/training/arguments.py validate_args turns sequence parallelism off under tensor 1.
  void Sequence() {
    Parallel& parallel = plan_.parallel;
    if (parallel.tensor == 1) parallel.sequence = false;
    // Context parallelism deals out 2 · context pieces, so that causal work is even.
    const std::int64_t pieces = parallel.context > 1 ? 2 * parallel.context : 1;
    const std::int64_t parts = pieces * (parallel.sequence ? parallel.tensor : 1);
    if (plan_.sequence_length % parts == 0) return;
    Refuse("contradiction", fmt::format("a sequence of {} cannot be split evenly into {} parts",
                                        plan_.sequence_length, parts));
  }

  // megatron/core/transformer/transformer_block.py get_num_layers_to_build: what the first and the
  // last stage do not take is split evenly.
  void Stages() {
    Parallel& parallel = plan_.parallel;
    const std::int64_t layers = plan_.model->Text().Layers();
    if (parallel.pipeline == 1) {
      if (parallel.virtual_stages > 1) {
        Refuse("contradiction", "virtual stages need a pipeline of at least two", "--pp 2");
      }
      parallel.stage_layers = {layers};
      return;
    }
    std::int64_t left = layers;
    std::int64_t others = parallel.pipeline;
    for (const auto& end : {asked_.first_stage_layers, asked_.last_stage_layers}) {
      if (!end.has_value()) continue;
      left -= *end;
      --others;
    }
    const std::int64_t chunks = others * parallel.virtual_stages;
    if (left < 0 || (others > 0 && left % chunks != 0) || (others == 0 && left != 0)) {
      Refuse("contradiction",
             fmt::format("{} layers cannot be split evenly into {} chunks (pipeline {} × virtual "
                         "stages {})",
                         left, chunks, parallel.pipeline, parallel.virtual_stages));
      return;
    }
    parallel.stage_layers.assign(static_cast<std::size_t>(parallel.pipeline),
                                 others > 0 ? left / others : 0);
    if (asked_.first_stage_layers) parallel.stage_layers.front() = *asked_.first_stage_layers;
    if (asked_.last_stage_layers) parallel.stage_layers.back() = *asked_.last_stage_layers;
    for (const std::int64_t stage : parallel.stage_layers) {
      if (stage >= parallel.virtual_stages && stage % parallel.virtual_stages == 0) continue;
      Refuse("contradiction", fmt::format("a stage of {} layers cannot be cut into {} chunks",
                                          stage, parallel.virtual_stages));
      return;
    }
    const std::int64_t micro_batches = plan_.gradient_accumulation;
    if (parallel.virtual_stages > 1 && micro_batches % parallel.pipeline != 0) {
      Refuse("contradiction",
             fmt::format("the interleaved schedule needs a multiple of {} micro-batches, not {}",
                         parallel.pipeline, micro_batches),
             fmt::format("--gradient-accumulation {}", RoundUp(micro_batches, parallel.pipeline)));
    }
  }

  const Parallelism& asked_;
  std::int64_t gpus_;
  Plan& plan_;
  Diagnostics& errors_;
};

// Of dense decoders whose projections are matrices of their own.
bool HasPlainLayers(const spec::ModelSpec& model) {
  return std::all_of(
      model.Text().kinds.begin(), model.Text().kinds.end(), [](const spec::LayerKind& kind) {
        const bool is_dense = kind.mlp.kind != spec::MlpKind::kMoe && !kind.parallel;
        const bool is_fused = std::any_of(
            kind.tensors.begin(), kind.tensors.end(), [](const spec::TensorSpec& tensor) {
              return tensor.part == spec::Part::kQueryKeyValue ||
                     tensor.part == spec::Part::kGateUp || tensor.is_transposed;
            });
        return is_dense && !is_fused && kind.attention.kind == spec::AttentionKind::kSoftmax;
      });
}

// Layers over tensor ranks, each of which is sharded over the others.
void SplitLayers(const Parallelism& asked, const spec::Machine& machine, Plan& plan,
                 Diagnostics& errors) {
  Parallelism tensor;
  tensor.tensor = asked.tensor;
  if (asked.pipeline > 1 || asked.context > 1 || asked.expert > 1 || asked.virtual_stages > 1) {
    errors.push_back(Error("not-simulated",
                           fmt::format("{}'s pipeline, context and expert parallelism cannot be "
                                       "simulated yet",
                                       plan.facts.stack().framework)));
  }
  if (!HasPlainLayers(*plan.model) || plan.method != spec::Method::kFull) {
    errors.push_back(
        Error("not-simulated", fmt::format("{} with {} cannot be split by tensors here",
                                           plan.model->id, Name(plan.method))));
  }
  tensor.sequence_parallel = true;
  Diagnostics own;
  Splitter(tensor, machine, plan, own).Run();
  plan.parallel.stage_layers.clear();
  for (Diagnostic& error : own) errors.push_back(std::move(error));
}

}  // namespace

void ResolveParallel(const spec::Recipe& recipe, const spec::Machine& machine, Plan& plan,
                     Diagnostics& errors) {
  plan.parallel.data = machine.Gpus();
  const bool can_split = plan.facts.Is(Fact::kModelParallel);
  if (plan.facts.Is(Fact::kTensorParallel) && recipe.parallelism.has_value()) {
    SplitLayers(*recipe.parallelism, machine, plan, errors);
    return;
  }
  if (!can_split) {
    if (recipe.parallelism.has_value()) {
      errors.push_back(Error("contradiction",
                             fmt::format("{} does not split models by tensor, pipeline, context "
                                         "or expert",
                                         plan.facts.stack().framework),
                             "--framework megatron"));
    }
    return;
  }
  Diagnostics own;
  Splitter(recipe.parallelism.value_or(Parallelism{}), machine, plan, own).Run();
  for (Diagnostic& error : own) errors.push_back(std::move(error));
}

}  // namespace trainfit::plan
