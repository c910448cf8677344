// DeepSpeed 0.19: the JSON of deepspeed.initialize (deepspeed/runtime/config.py, zero/config.py).
#include <algorithm>
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr KeyRow kRows[] = {
    {"train_micro_batch_size_per_gpu", Effect::kSays, Term::kMicroBatch},
    {"gradient_accumulation_steps", Effect::kSays, Term::kAccumulation},
    {"train_batch_size", Effect::kSays, Term::kGlobalBatch},
    {"bf16", Effect::kBlock},
    {"bf16.enabled", Effect::kSays, Term::kBf16},
    {"bf16.*", Effect::kNone},
    {"bf16.bf16_master_weights_and_grads", Effect::kRefused, Term::kNone, "bf16 master weights"},
    {"bf16.bf16_optimizer_states", Effect::kRefused, Term::kNone, "bf16 optimizer states"},
    {"bfloat16", Effect::kBlock},
    {"bfloat16.enabled", Effect::kSays, Term::kBf16},
    {"bfloat16.*", Effect::kNone},
    {"fp16", Effect::kBlock},
    {"fp16.enabled", Effect::kSays, Term::kFp16},
    {"fp16.*", Effect::kNone},
    {"fp16.fp16_master_weights_and_grads", Effect::kRefused, Term::kNone, "fp16 master weights"},
    {"optimizer", Effect::kBlock},
    {"optimizer.type", Effect::kSays, Term::kOptimizer},
    {"optimizer.*", Effect::kFree},
    {"scheduler*", Effect::kFree},
    {"zero_optimization", Effect::kBlock},
    {"zero_optimization.stage", Effect::kSays, Term::kZeroStage},
    {"zero_optimization.offload_optimizer", Effect::kBlock},
    {"zero_optimization.offload_optimizer.device", Effect::kSays, Term::kOffloadOptimizer},
    {"zero_optimization.offload_optimizer.pin_memory", Effect::kSays, Term::kPinMemory},
    {"zero_optimization.offload_optimizer.*", Effect::kNone},
    {"zero_optimization.offload_optimizer.ratio", Effect::kRefused, Term::kNone,
     "offload of a part of the optimizer"},
    {"zero_optimization.offload_optimizer.super_offload", Effect::kRefused, Term::kNone,
     "SuperOffload"},
    {"zero_optimization.offload_param", Effect::kBlock},
    {"zero_optimization.offload_param.device", Effect::kSays, Term::kOffloadParameters},
    {"zero_optimization.offload_param.pin_memory", Effect::kSays, Term::kPinMemory},
    {"zero_optimization.offload_param.*", Effect::kNone},
    {"zero_optimization.prefetch_bucket_size", Effect::kSays, Term::kPrefetchBucket},
    {"zero_optimization.param_persistence_threshold", Effect::kSays, Term::kPersistence},
    {"zero_optimization.max_reuse_distance", Effect::kSays, Term::kReuseDistance},
    {"zero_optimization.cpu_offload", Effect::kSays, Term::kOffloadOptimizer},
    {"zero_optimization.zero_hpz_partition_size", Effect::kRefused, Term::kNone, "hpZ (ZeRO++)"},
    {"zero_optimization.zero_quantized_*", Effect::kRefused, Term::kNone,
     "quantized communication (ZeRO++)"},
    {"zero_optimization.zenflow*", Effect::kRefused, Term::kNone, "ZenFlow"},
    {"zero_optimization.reduce_bucket_size", Effect::kSays, Term::kReduceBucket},
    {"zero_optimization.allgather_bucket_size", Effect::kNotCounted, Term::kNone,
     "the size of the buckets"},
    {"zero_optimization.stage3_prefetch_bucket_size", Effect::kSays, Term::kPrefetchBucket},
    {"zero_optimization.stage3_param_persistence_threshold", Effect::kSays, Term::kPersistence},
    {"zero_optimization.stage3_max_live_parameters", Effect::kNotCounted, Term::kNone,
     "how many parameters stay gathered"},
    {"zero_optimization.stage3_max_reuse_distance", Effect::kSays, Term::kReuseDistance},
    {"zero_optimization.sub_group_size", Effect::kSays, Term::kSubGroup},
    {"zero_optimization.overlap_comm", Effect::kSays, Term::kOverlapComm},
    {"zero_optimization.contiguous_gradients", Effect::kNone},
    {"zero_optimization.reduce_scatter", Effect::kNone},
    {"zero_optimization.allgather_partitions", Effect::kNone},
    {"zero_optimization.round_robin_gradients", Effect::kNone},
    {"zero_optimization.stage3_gather_*", Effect::kNotCounted, Term::kNone, "the memory of saving"},
    {"zero_optimization.gather_16bit_weights_on_model_save", Effect::kNotCounted, Term::kNone,
     "the memory of saving"},
    {"gradient_clipping", Effect::kNone},
    {"steps_per_print", Effect::kNone},
    {"wall_clock_breakdown", Effect::kNone},
    {"memory_breakdown", Effect::kNone},
    {"dump_state", Effect::kNone},
    {"prescale_gradients", Effect::kNone},
    {"gradient_predivide_factor", Effect::kNone},
    {"zero_allow_untested_optimizer", Effect::kNone},
    {"zero_force_ds_cpu_optimizer", Effect::kNone},
    {"communication_data_type", Effect::kNotCounted, Term::kNone, "the type of what is exchanged"},
    {"data_types*", Effect::kNotCounted, Term::kNone, "the type of accumulated gradients"},
    {"activation_checkpointing*", Effect::kFree},  // used by models that call DeepSpeed's own
    {"aio*", Effect::kFree},
    {"flops_profiler*", Effect::kFree},
    {"tensorboard*", Effect::kFree},
    {"wandb*", Effect::kFree},
    {"csv_monitor*", Effect::kFree},
    {"comms_logger*", Effect::kFree},
    {"checkpoint*", Effect::kFree},
    {"load_universal_checkpoint", Effect::kNone},
    {"train*", Effect::kNone},
    {"tensor_parallel*", Effect::kRefused, Term::kNone, "DeepSpeed's tensor parallelism"},
    {"pipeline*", Effect::kRefused, Term::kNone, "DeepSpeed's pipelines"},
    {"compression_training*", Effect::kRefused, Term::kNone, "compression"},
    {"torch_autocast*", Effect::kRefused, Term::kNone, "autocast under DeepSpeed"},
    {"compile*", Effect::kRefused, Term::kNone, "DeepCompile"},
    {"elasticity*", Effect::kFree},
    {"autotuning*", Effect::kFree},
    {"hybrid_engine*", Effect::kRefused, Term::kNone, "the hybrid engine"},
};

// Of the batch's keys those that stand there with a number.
constexpr FixRow kFixes[] = {
    {"--micro-batch", "train_micro_batch_size_per_gpu", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--sharding zero3", "zero_optimization.stage", "3"},
};

int Score(const config::Node& root) {
  return 5 * CountKeys(root, {"zero_optimization", "train_micro_batch_size_per_gpu",
                              "train_batch_size", "zero_allow_untested_optimizer",
                              "wall_clock_breakdown", "steps_per_print"});
}

void Finish(Draft& draft) {
  if (const Said* offload = draft.Find(Term::kOffloadOptimizer);
      offload != nullptr && (offload->word == "true" || offload->word == "false")) {
    draft.Mean(Term::kOffloadOptimizer,
               SaidWord(offload->word == "true" ? "cpu" : "none", "deepspeed", ""));
  }
  draft.Default(Term::kZeroStage,
                SaidCount(0, "deepspeed", "deepspeed/runtime/zero/config.py: stage"));
  FillZeroDefaults(draft);
}

}  // namespace

void FillZeroDefaults(Draft& draft) {
  struct Row {
    Term term;
    std::int64_t size;
    const char* source;
  };
  constexpr Row kSizes[] = {
      {Term::kReduceBucket, 500'000'000, "deepspeed/runtime/zero/config.py: reduce_bucket_size"},
      {Term::kPrefetchBucket, 50'000'000, "deepspeed/runtime/zero/config.py: prefetch_bucket_size"},
      {Term::kPersistence, 100'000,
       "deepspeed/runtime/zero/config.py: param_persistence_threshold"},
  };
  for (const Row& row : kSizes) {
    // What is left open for transformers is filled in by it, from the model's width.
    const auto& left = draft.left();
    const bool is_auto = std::any_of(
        left.begin(), left.end(), [&](const Draft::Left& other) { return other.term == row.term; });
    if (!is_auto) draft.Default(row.term, SaidCount(row.size, "deepspeed", row.source));
  }
}

const Dialect& DeepSpeed() {
  static const Dialect kDialect = {.name = "deepspeed",
                                   .title = "DeepSpeed 0.19.8",
                                   .rows = kRows,
                                   .known = {"deepspeed"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
