// A plan: every choice made, nothing left open. Who holds what, in which type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/basis.h"
#include "base/expected.h"
#include "plan/adapters.h"
#include "plan/facts.h"
#include "spec/machine.h"
#include "spec/model.h"
#include "spec/recipe.h"
#include "spec/zero.h"

namespace trainfit::plan {

// Something the answer rests on that the user did not say.
struct Assumption {
  std::string what;   // "activation checkpointing"
  std::string value;  // "on"
  Basis basis = Basis::kSource;
  std::string source;
  bool operator==(const Assumption&) const = default;
};

// How data, and what belongs to a replica, is spread over the ranks.
struct Parallel {
  spec::Sharding sharding = spec::Sharding::kNone;
  std::int64_t data = 1;  // replicas (sharded ones included)
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;   // inside an expert
  std::int64_t virtual_stages = 1;  // chunks of layers of one pipeline rank
  bool sequence = false;            // norms and dropouts are split along the sequence over `tensor`
  spec::PipelineOrder order = spec::PipelineOrder::kOneForwardOneBackward;
  std::vector<std::int64_t> stage_layers;  // by pipeline stage; empty without a pipeline

  // Replicas of an expert's weights: what is left of the ranks of one stage.
  std::int64_t ExpertData() const { return data * context * tensor / (expert * expert_tensor); }
  std::int64_t Ranks() const { return data * context * tensor * pipeline; }
  bool operator==(const Parallel&) const = default;
};

// ZeRO's settings, all of them chosen; sizes are elements. Of no meaning under other shardings.
struct ZeroPlan {
  std::int64_t reduce_bucket = 0;
  bool overlap_comm = false;
  std::int64_t prefetch_bucket = 0;
  std::int64_t persistence_threshold = 0;
  std::int64_t max_reuse_distance = 0;
  std::int64_t sub_group = 0;
  bool pin_memory = true;
  bool init_partitioned = true;
  spec::Offload offload_optimizer = spec::Offload::kNone;
  spec::Offload offload_param = spec::Offload::kNone;
  bool operator==(const ZeroPlan&) const = default;
};

// How one tensor of the model is held.
struct ParameterPlan {
  spec::Dtype dtype = spec::Dtype::kBf16;
  bool trainable = false;
  bool quantized_4bit = false;  // stored as Plan::quantization says
  bool saved_copy = false;      // PEFT's modules_to_save: a trained copy beside the frozen original
  std::int64_t lora_rank = 0;   // 0: no adapter on this module
  bool operator==(const ParameterPlan&) const = default;
};

struct Plan {
  std::shared_ptr<const spec::ModelSpec> model;
  FactTable facts;

  spec::Method method = spec::Method::kFull;
  spec::Precision precision = spec::Precision::kBf16Mixed;
  spec::Dtype compute_dtype = spec::Dtype::kBf16;
  spec::Dtype weight_dtype = spec::Dtype::kBf16;  // of trained (full) or frozen (LoRA) weights
  spec::Dtype adapter_dtype = spec::Dtype::kFp32;
  bool reshard_after_forward = true;
  bool offload_shards = false;          // FSDP: shards lie on the host and are updated there
  bool gradients_view_buckets = false;  // DDP: gradients lie in the buckets, not beside them
  spec::Dtype reduce_dtype = spec::Dtype::kBf16;  // FSDP's sums of gradients over the ranks
  bool autocast = false;
  spec::Optimizer optimizer = spec::Optimizer::kAdamW;
  spec::OptimizerLoop optimizer_loop = spec::OptimizerLoop::kFused;
  bool optimizer_in_backward = false;
  std::int64_t micro_batch = 1;
  std::int64_t gradient_accumulation = 1;
  std::int64_t sequence_length = 2048;
  spec::Checkpointing checkpointing = spec::Checkpointing::kFull;
  spec::AttentionImplementation attention = spec::AttentionImplementation::kSdpa;
  spec::LossKernel loss = spec::LossKernel::kPlain;
  std::int64_t loss_pieces = 0;  // of a row, for head and plain loss; 0: at once
  spec::LoraRecipe lora;
  spec::Quantization quantization = spec::Quantization::kNf4;
  bool double_quantization = true;
  bool kbit_preparation = false;
  bool liger_kernels = false;     // norms and rotary as one kernel each
  bool fused_activation = false;  // act(gate) × up as one kernel
  bool padding_free = true;
  bool master_weights = false;  // fp32 copies of 16-bit weights in the optimizer
  std::vector<spec::Recompute> recompute;
  std::optional<std::int64_t> recompute_layers;  // of a stage; absent: all
  double hidden_dropout = 0;
  double attention_dropout = 0;
  spec::Dtype gradient_dtype = spec::Dtype::kFp32;  // in which they are summed up
  bool fused_accumulation = true;
  bool overlap_reduce = false;
  bool overlap_gather = false;
  bool first_flash = false;  // flash-attention's kernels before version 2
  std::optional<spec::Fp8> fp8;
  bool fp8_needs_transposes = false;  // products read 8-bit matrices along their depth alone
  double expert_imbalance = 1;        // tokens of the busiest expert rank over the mean
  Parallel parallel;
  std::int64_t ranks_per_node = 1;
  ZeroPlan zero;

  std::vector<Assumption> assumptions;
  Diagnostics warnings;

  std::int64_t TokensPerMicroBatch() const { return micro_batch * sequence_length; }
};

// Fills in every open choice of `recipe` from `facts`, checks that the choices go together, and
// that the sizes are ones that exist. `machine`: how many ranks there are, and what the card can.
// Errors: contradictory options, bf16 on a card without it, sizes out of range; each says which
// option, why, and what to use instead.
Expected<Plan> ResolvePlan(const spec::Recipe& recipe, std::shared_ptr<const spec::ModelSpec> model,
                           const spec::Machine& machine, const FactTable& facts);

// Sizes of plan.parallel from the recipe's and the machine's (parallel.cc): the number of replicas
// is what the splits leave over. Errors: splits that a model or a machine does not allow.
void ResolveParallel(const spec::Recipe& recipe, const spec::Machine& machine, Plan& plan,
                     Diagnostics& errors);

// How this tensor of the model is held under the plan.
ParameterPlan HoldParameter(const Plan& plan, const spec::TensorSpec& tensor);

// What the adapter of this tensor's module consists of; empty: it has none.
std::vector<AdapterTensor> AdapterTensorsOf(const Plan& plan, const spec::TensorSpec& tensor,
                                            const ParameterPlan& held);

// Whether IA³ takes this tensor's module as feed-forward.
bool IsFeedforward(const Plan& plan, const spec::TensorSpec& tensor);

// Those of the recipe's LoRA targets that name no module of the model; "all-linear" always does.
std::vector<std::string> UnknownLoraTargets(const Plan& plan);

// Parameters that receive gradients, adapters included.
std::int64_t TrainableParameterCount(const Plan& plan);
// Adapter parameters alone.
std::int64_t AdapterParameterCount(const Plan& plan);

}  // namespace trainfit::plan
