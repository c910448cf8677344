#include "plan/update.h"

#include <fmt/core.h>

namespace trainfit::plan {

// torchtune recipes/full_finetune_single_device.py: "Gradient accumulation is not supported with
// optimizer in bwd".
void ResolveUpdate(const spec::Recipe& recipe, Plan& plan, Diagnostics& errors) {
  plan.optimizer_in_backward = recipe.optimizer_in_backward.value_or(false);
  if (!plan.optimizer_in_backward) return;
  // One optimizer a weight: torch's loop over many has one to go through.
  if (plan.optimizer_loop == spec::OptimizerLoop::kForeach) {
    plan.optimizer_loop = spec::OptimizerLoop::kForLoop;
  }
  if (plan.gradient_accumulation > 1) {
    errors.push_back(Error("contradiction",
                           "an update inside the backward pass leaves no gradients to add up",
                           "--gradient-accumulation 1"));
  }
  const bool is_alone = plan.parallel.sharding == spec::Sharding::kNone;
  if (is_alone && !plan.facts.Is(Fact::kModelParallel)) return;
  errors.push_back(Error("not-simulated",
                         fmt::format("updates inside the backward pass with sharding {} of {} "
                                     "cannot be simulated yet",
                                     Name(plan.parallel.sharding), plan.facts.stack().framework)));
}

}  // namespace trainfit::plan
