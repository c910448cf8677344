// Megatron-LM's arguments (megatron/training/arguments.py, main of August 2026): command lines
// alone. The model's own sizes are not read: --model names it.
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "megatron";
constexpr std::string_view kModelSize = "a size of the model, which --model gives";

constexpr KeyRow kRows[] = {
    {"micro_batch_size", Effect::kSays, Term::kMicroBatch},
    {"global_batch_size", Effect::kSays, Term::kGlobalBatch},
    {"seq_length", Effect::kSays, Term::kLength},
    {"bf16", Effect::kSays, Term::kBf16},
    {"fp16", Effect::kSays, Term::kFp16},
    {"fp8_format", Effect::kSays, Term::kFp8Format},
    {"fp8", Effect::kSays, Term::kFp8Format},
    {"fp8_recipe", Effect::kSays, Term::kFp8Recipe},
    {"fp8_param_gather", Effect::kSays, Term::kFp8Parameters},
    {"fp8_amax_history_len", Effect::kNone},
    {"fp8_amax_compute_algo", Effect::kNone},
    {"fp8_margin", Effect::kNone},
    {"fp4_format", Effect::kRefused, Term::kNone, "fp4"},
    {"optimizer", Effect::kSays, Term::kOptimizer},
    {"optimizer_cpu_offload", Effect::kRefused, Term::kNone, "offload of the optimizer"},
    {"use_precision_aware_optimizer", Effect::kRefused, Term::kNone,
     "the precision-aware optimizer"},
    {"tensor_model_parallel_size", Effect::kSays, Term::kTensorParallel},
    {"pipeline_model_parallel_size", Effect::kSays, Term::kPipelineParallel},
    {"num_virtual_stages_per_pipeline_rank", Effect::kSays, Term::kVirtualStages},
    {"num_layers_per_virtual_pipeline_stage", Effect::kRefused, Term::kNone,
     "layers a virtual stage (say --num-virtual-stages-per-pipeline-rank)"},
    {"context_parallel_size", Effect::kSays, Term::kContextParallel},
    {"expert_model_parallel_size", Effect::kSays, Term::kExpertParallel},
    {"expert_tensor_parallel_size", Effect::kSays, Term::kExpertTensorParallel},
    {"sequence_parallel", Effect::kSays, Term::kSequenceParallel},
    {"use_distributed_optimizer", Effect::kSays, Term::kDistributedOptimizer},
    {"overlap_grad_reduce", Effect::kSays, Term::kOverlapReduce},
    {"overlap_param_gather", Effect::kSays, Term::kOverlapGather},
    {"grad_reduce_in_bf16", Effect::kSays, Term::kGradientsInBf16},
    {"accumulate_allreduce_grads_in_fp32", Effect::kNone},
    {"recompute_activations", Effect::kSays, Term::kRecompute},
    {"recompute_granularity", Effect::kSays, Term::kRecompute},
    {"recompute_method", Effect::kSays, Term::kRecomputeMethod},
    {"recompute_num_layers", Effect::kSays, Term::kRecomputeLayers},
    {"recompute_modules", Effect::kSays, Term::kRecomputeModules},
    {"cpu_offloading*", Effect::kRefused, Term::kNone, "offload of activations"},
    {"use_torch_fsdp2", Effect::kRefused, Term::kNone, "FSDP in Megatron"},
    {"use_megatron_fsdp", Effect::kRefused, Term::kNone, "FSDP in Megatron"},
    {"use_custom_fsdp", Effect::kRefused, Term::kNone, "FSDP in Megatron"},
    {"attention_dropout", Effect::kSays, Term::kAttentionDropout},
    {"hidden_dropout", Effect::kSays, Term::kHiddenDropout},
    {"cross_entropy_loss_fusion", Effect::kNotCounted, Term::kNone, "a fused cross entropy"},
    {"cross_entropy_fusion_impl", Effect::kNotCounted, Term::kNone, "a fused cross entropy"},
    {"enable_cuda_graph", Effect::kRefused, Term::kNone, "CUDA graphs"},
    {"external_cuda_graph", Effect::kRefused, Term::kNone, "CUDA graphs"},
    {"mtp_num_layers", Effect::kRefused, Term::kNone, "multi-token prediction"},
    {"save_interval", Effect::kNotCounted, Term::kNone, "the memory of saving"},
    {"eval_interval", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"num_layers", Effect::kNotCounted, Term::kNone, kModelSize},
    {"hidden_size", Effect::kNotCounted, Term::kNone, kModelSize},
    {"ffn_hidden_size", Effect::kNotCounted, Term::kNone, kModelSize},
    {"num_attention_heads", Effect::kNotCounted, Term::kNone, kModelSize},
    {"num_query_groups", Effect::kNotCounted, Term::kNone, kModelSize},
    {"kv_channels", Effect::kNotCounted, Term::kNone, kModelSize},
    {"vocab_size", Effect::kNotCounted, Term::kNone, kModelSize},
    {"num_experts", Effect::kNotCounted, Term::kNone, kModelSize},
    {"*", Effect::kNone},  // the rest of some 800 arguments is not told apart
};

constexpr FixRow kFixes[] = {
    {"--micro-batch", "micro_batch_size", ""},
    {"--seq-len", "seq_length", ""},
};

int Score(const config::Node& root) {
  return 3 * CountKeys(root, {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                              "micro_batch_size", "global_batch_size", "seq_length",
                              "num_attention_heads", "use_distributed_optimizer", "train_iters"});
}

void Finish(Draft& draft) {
  draft.Default(Term::kOptimizer, SaidWord("adam", kTool, "megatron/training/arguments.py"));
  draft.Default(Term::kHiddenDropout, [] {
    Said said;
    said.fraction = 0.1;
    said.tool = kTool;
    said.source = "megatron/core/transformer/transformer_config.py: hidden_dropout";
    return said;
  }());
  draft.Default(Term::kAttentionDropout, [] {
    Said said;
    said.fraction = 0.1;
    said.tool = kTool;
    said.source = "megatron/core/transformer/transformer_config.py: attention_dropout";
    return said;
  }());
}

}  // namespace

const Dialect& Megatron() {
  static const Dialect kDialect = {.name = "megatron",
                                   .title = "Megatron-LM arguments",
                                   .framework = "megatron",
                                   .rows = kRows,
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
