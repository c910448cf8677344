#include "plan/fsdp.h"

#include <fmt/core.h>

namespace trainfit::plan {
namespace {

using spec::Dtype;
using spec::Sharding;

bool IsFsdp(const Plan& plan) {
  return plan.parallel.sharding == Sharding::kFsdp1 || plan.parallel.sharding == Sharding::kFsdp2;
}

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
  if (!IsFsdp(plan) || plan.method != spec::Method::kQlora || !is_int8) return;
  errors.push_back(Error("contradiction",
                         fmt::format("FSDP does not shard weights of integers: {} weights cannot "
                                     "be trained under {}",
                                     Name(plan.quantization), Name(plan.parallel.sharding)),
                         "--quantization nf4"));
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

}  // namespace

void ResolveFsdp(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  UpcastShards(plan);
  plan.reduce_dtype = plan.facts.Is(Fact::kReduceFp32) ? Dtype::kFp32 : plan.compute_dtype;
  if (recipe.reduce_dtype.has_value()) plan.reduce_dtype = *recipe.reduce_dtype;
  CheckBase(plan, errors);
  Reshard(recipe, plan, errors);
}

}  // namespace trainfit::plan
