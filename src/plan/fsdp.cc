#include "plan/fsdp.h"

#include <fmt/core.h>

namespace trainfit::plan {
namespace {

using spec::Dtype;
using spec::Sharding;

// Whatever type the weights were loaded in: what FSDP1 shards and the optimizer updates.
void UpcastShards(Plan& plan) {
  const bool is_mixed_fsdp1 = plan.parallel.sharding == Sharding::kFsdp1 && plan.autocast;
  const bool is_half = plan.weight_dtype != Dtype::kFp32;
  if (!is_mixed_fsdp1 || plan.method != spec::Method::kFull || !is_half) return;
  const FactRow& row = plan.facts.Row(Fact::kUpcastTrainedShards);
  if (row.value == 0) return;
  plan.weight_dtype = Dtype::kFp32;
  plan.assumptions.push_back({row.what, "fp32", row.basis, row.source});
}

// torch/distributed/fsdp/_flat_param.py _validate_tensors_to_flatten: "Cannot flatten integer dtype
// tensors"; bitsandbytes' int8 weights are parameters of one.
void CheckBase(const Plan& plan, Diagnostics& errors) {
  const bool is_int8 = plan.quantization == spec::Quantization::kInt8;
  if (!IsFsdp(plan.parallel.sharding) || plan.method != spec::Method::kQlora || !is_int8) return;
  errors.push_back(Error("contradiction",
                         fmt::format("FSDP does not shard weights of integers: {} weights cannot "
                                     "be trained under {}",
                                     Name(plan.quantization), Name(plan.parallel.sharding)),
                         "4-bit weights (load_in_4bit) are stored in a type that it does shard"));
}

void Reshard(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  plan.reshard_after_forward = recipe.reshard_after_forward.value_or(true);
  // torch/distributed/fsdp/_runtime_utils.py _should_free_in_backward: without a sync the whole
  // weights stay from one micro-step to the next.
  const bool stays = !plan.reshard_after_forward && plan.gradient_accumulation > 1 &&
                     !plan.facts.Is(Fact::kSyncEachMicroStep);
  if (!stays) return;
  errors.push_back(Error("not-simulated",
                         "FSDP that keeps whole weights after forward cannot be simulated with "
                         "gradient accumulation without syncs"));
}

// torch/distributed/fsdp/api.py CPUOffload, fsdp/_fully_shard/_fsdp_api.py CPUOffloadPolicy: shards
// of parameters, gradients and states go together. The optimizer runs where they are: bitsandbytes
// has no kernels there, and torch's own choice of a loop is the plain one
// (torch/optim/optimizer.py _default_to_fused_or_foreach: CUDA tensors alone).
void OffloadShards(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  if (!IsFsdp(plan.parallel.sharding)) return;
  using spec::Offload;
  using spec::Optimizer;
  const Offload parameters = recipe.zero.offload_param.value_or(Offload::kNone);
  const Offload states = recipe.zero.offload_optimizer.value_or(Offload::kNone);
  if (parameters == Offload::kNvme || states == Offload::kNvme ||
      (states == Offload::kCpu && parameters == Offload::kNone)) {
    errors.push_back(Error("contradiction",
                           "FSDP keeps parameters, gradients and states on the host together, or "
                           "none of them",
                           "--offload params"));
    return;
  }
  plan.offload_shards = parameters == Offload::kCpu;
  if (!plan.offload_shards) return;
  const bool runs_on_host = plan.optimizer == Optimizer::kAdamW ||
                            plan.optimizer == Optimizer::kSgd ||
                            plan.optimizer == Optimizer::kSgdMomentum;
  if (!runs_on_host) {
    errors.push_back(Error("not-simulated",
                           fmt::format("{} over weights that FSDP keeps on the host cannot be "
                                       "simulated",
                                       Name(plan.optimizer)),
                           "--optimizer adamw"));
  }
  if (plan.optimizer_loop == spec::OptimizerLoop::kForeach) {
    plan.optimizer_loop = spec::OptimizerLoop::kForLoop;
  }
  // FullyShardedDataParallel.__init__: "gradient accumulation is not supported outside no_sync()
  // when using CPU offloading".
  if (plan.parallel.sharding == Sharding::kFsdp1 && plan.gradient_accumulation > 1 &&
      plan.facts.Is(Fact::kSyncEachMicroStep)) {
    errors.push_back(Error("contradiction",
                           "FSDP1 that offloads to the host cannot add up gradients that are "
                           "reduced after each micro-step",
                           "--gradient-accumulation 1"));
  }
}

}  // namespace

void ResolveFsdp(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  UpcastShards(plan);
  plan.reduce_dtype = plan.facts.Is(Fact::kReduceFp32) ? Dtype::kFp32 : plan.compute_dtype;
  if (recipe.reduce_dtype.has_value()) plan.reduce_dtype = *recipe.reduce_dtype;
  CheckBase(plan, errors);
  Reshard(recipe, plan, errors);
  OffloadShards(recipe, plan, errors);
  plan.gradients_view_buckets = recipe.gradients_view_buckets.value_or(false);
}

}  // namespace trainfit::plan
