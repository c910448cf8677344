// accelerate 1.15.0: the YAML of `accelerate config` (accelerate/commands/config/config_args.py).
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "accelerate";

constexpr KeyRow kRows[] = {
    {"distributed_type", Effect::kSays, Term::kDistribution},
    {"mixed_precision", Effect::kSays, Term::kMixedPrecision},
    {"num_processes", Effect::kSays, Term::kProcesses},
    {"num_machines", Effect::kSays, Term::kNodes},
    {"nproc_per_node", Effect::kSays, Term::kProcessesPerNode},  // torchrun, deepspeed
    {"fp8_config*", Effect::kRefused, Term::kNone, "fp8"},
    {"use_cpu", Effect::kRefused, Term::kNone, "training on the CPU"},
    {"parallelism_config*", Effect::kRefused, Term::kNone, "tensor and context parallelism"},
    {"megatron_lm_config*", Effect::kRefused, Term::kNone, "Megatron-LM under accelerate"},
    {"dynamo_config", Effect::kBlock},
    {"dynamo_config.dynamo_backend", Effect::kRefused, Term::kNone, "torch.compile"},
    {"dynamo_config.*", Effect::kNone},
    {"dynamo_backend", Effect::kRefused, Term::kNone, "torch.compile"},
    {"deepspeed_config", Effect::kBlock},
    {"deepspeed_config.zero_stage", Effect::kSays, Term::kZeroStage},
    {"deepspeed_config.gradient_accumulation_steps", Effect::kSays, Term::kAccumulation},
    {"deepspeed_config.offload_optimizer_device", Effect::kSays, Term::kOffloadOptimizer},
    {"deepspeed_config.offload_param_device", Effect::kSays, Term::kOffloadParameters},
    {"deepspeed_config.zero3_init_flag", Effect::kSays, Term::kPartitionedLoad},
    {"deepspeed_config.deepspeed_config_file", Effect::kFree},
    {"deepspeed_config.*", Effect::kNone},
    {"fsdp_config", Effect::kBlock},
    {"fsdp_config.fsdp_version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config.fsdp_reshard_after_forward", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.fsdp_sharding_strategy", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.fsdp_offload_params", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.fsdp_activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"fsdp_config.fsdp_auto_wrap_policy", Effect::kNone},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap", Effect::kNone},
    {"fsdp_config.fsdp_backward_prefetch*", Effect::kNone},
    {"fsdp_config.fsdp_cpu_ram_efficient_loading", Effect::kNone},
    {"fsdp_config.fsdp_state_dict_type", Effect::kNone},
    {"fsdp_config.fsdp_sync_module_states", Effect::kNone},
    {"fsdp_config.fsdp_use_orig_params", Effect::kNone},
    {"compute_environment", Effect::kNone},
    {"debug", Effect::kNone},
    {"machine_rank", Effect::kNone},
    {"main_*", Effect::kNone},
    {"rdzv_backend", Effect::kNone},
    {"same_network", Effect::kNone},
    {"gpu_ids", Effect::kNone},
    {"enable_cpu_affinity", Effect::kNone},
    {"downcast_bf16", Effect::kNone},
    {"tpu_*", Effect::kNone},
};

constexpr FixRow kFixes[] = {{"--sharding fsdp2", "fsdp_config.fsdp_version", "2"}};

int Score(const config::Node& root) {
  return 4 * CountKeys(root, {"distributed_type", "compute_environment", "num_machines",
                              "machine_rank", "num_processes", "main_training_function",
                              "rdzv_backend", "downcast_bf16"});
}

void Finish(Draft& draft) {
  const Said* type = draft.Find(Term::kDistribution);
  if (type == nullptr) return;
  const Said said = *type;
  draft.Forget(Term::kDistribution);
  if (said.word == "FSDP") {
    draft.Mean(Term::kFsdp, SaidFlag(true, kTool, ""));
    draft.Default(Term::kFsdpVersion,
                  SaidCount(1, kTool, "accelerate/commands/launch.py: --fsdp_version"));
    draft.Default(Term::kFsdpStrategy, SaidWord("full_shard", kTool,
                                                "accelerate/commands/launch.py: "
                                                "--fsdp_sharding_strategy"));
    ReadFsdpWords(draft);
  } else if (said.word == "DEEPSPEED") {
    if (!draft.Has(Term::kZeroStage)) {
      // Of deepspeed_config_file, which may be one of the other files.
      draft.LeaveToPartner(Term::kZeroStage, said.key, said.span);
    } else if (draft.Find(Term::kZeroStage)->tool == Accelerate().title) {
      FillZeroDefaults(draft);  // accelerate's plugin writes no sizes
    }
  } else {
    // A leftover block of another type is not used (accelerate/commands/launch.py).
    draft.Forget(Term::kFsdpStrategy);
    draft.Forget(Term::kFsdpOffload);
    if (said.word != "NO" && said.word != "MULTI_GPU") {
      draft.Refuse(said.span, said.key, "distributed_type " + said.word);
    }
  }
}

}  // namespace

const Dialect& Accelerate() {
  static const Dialect kDialect = {.name = "accelerate",
                                   .title = "accelerate 1.15.0",
                                   .rows = kRows,
                                   .known = {"accelerate"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
