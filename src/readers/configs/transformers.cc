// transformers 5.24.0: TrainingArguments (transformers/training_args.py), which scripts and most
// trainers take as a command line, as YAML or as JSON.
#include <algorithm>
#include <string>
#include <vector>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "transformers";
constexpr std::string_view kEvaluation = "the memory of evaluation";
constexpr std::string_view kSaving = "the memory of saving";

constexpr KeyRow kTrainingArguments[] = {
    {"per_device_train_batch_size", Effect::kSays, Term::kMicroBatch},
    {"per_gpu_train_batch_size", Effect::kSays, Term::kMicroBatch},
    {"gradient_accumulation_steps", Effect::kSays, Term::kAccumulation},
    {"bf16", Effect::kSays, Term::kBf16},
    {"fp16", Effect::kSays, Term::kFp16},
    {"optim", Effect::kSays, Term::kOptimizer},
    {"gradient_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"gradient_checkpointing_kwargs*", Effect::kFree},
    {"activation_checkpointing_kwargs*", Effect::kFree},
    {"use_liger_kernel", Effect::kSays, Term::kLiger},
    {"deepspeed", Effect::kFree},
    {"fsdp", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config", Effect::kBlock},
    {"fsdp_config.version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config.fsdp_version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config.reshard_after_forward", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.fsdp_reshard_after_forward", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.cpu_offload", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.offload_params", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.fsdp_offload_params", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"fsdp_config.fsdp_activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"fsdp_config.*", Effect::kNone},
    {"fsdp_transformer_layer_cls_to_wrap", Effect::kNone},
    {"torch_compile*", Effect::kRefused, Term::kNone, "torch.compile"},
    {"parallelism_config", Effect::kRefused, Term::kNone, "tensor and context parallelism"},
    {"label_smoothing_factor", Effect::kRefused, Term::kNone, "label smoothing's own loss"},
    {"optim_target_modules", Effect::kRefused, Term::kNone, "optimizers of chosen modules"},
    {"neftune_noise_alpha", Effect::kNotCounted, Term::kNone, "noise on the embeddings' output"},
    {"auto_find_batch_size", Effect::kNotCounted, Term::kNone, "a search for the batch"},
    {"torch_empty_cache_steps", Effect::kNotCounted, Term::kNone, "emptying the cache"},
    {"ddp_bucket_cap_mb", Effect::kNotCounted, Term::kNone, "other buckets than DDP's 25 MB"},
    {"liger_kernel_config*", Effect::kNotCounted, Term::kNone, "a choice among Liger's kernels"},
    {"do_eval", Effect::kNotCounted, Term::kNone, kEvaluation},
    {"eval_strategy", Effect::kNotCounted, Term::kNone, kEvaluation},
    {"evaluation_strategy", Effect::kNotCounted, Term::kNone, kEvaluation},
    {"predict_with_generate", Effect::kNotCounted, Term::kNone, kEvaluation},
    {"save_strategy", Effect::kNotCounted, Term::kNone, kSaving},
    {"save_steps", Effect::kNotCounted, Term::kNone, kSaving},
    {"save_total_limit", Effect::kNotCounted, Term::kNone, kSaving},
    {"eval_*", Effect::kNone},
    {"per_device_eval_batch_size", Effect::kNone},
    {"per_gpu_eval_batch_size", Effect::kNone},
    {"bf16_full_eval", Effect::kNone},
    {"fp16_full_eval", Effect::kNone},
    {"batch_eval_metrics", Effect::kNone},
    {"include_*", Effect::kNone},
    {"save_*", Effect::kNone},
    {"load_best_model_at_end", Effect::kNone},
    {"metric_for_best_model", Effect::kNone},
    {"greater_is_better", Effect::kNone},
    {"output_dir", Effect::kNone},
    {"overwrite_output_dir", Effect::kNone},
    {"do_train", Effect::kNone},
    {"do_predict", Effect::kNone},
    {"learning_rate", Effect::kNone},
    {"weight_decay", Effect::kNone},
    {"adam_*", Effect::kNone},
    {"max_grad_norm", Effect::kNone},
    {"lr_*", Effect::kNone},
    {"warmup_*", Effect::kNone},
    {"num_train_epochs", Effect::kNone},
    {"max_steps", Effect::kNone},
    {"optim_args", Effect::kNone},
    {"seed", Effect::kNone},
    {"data_seed", Effect::kNone},
    {"full_determinism", Effect::kNone},
    {"tf32", Effect::kNone},
    {"use_cache", Effect::kNone},
    {"logging_*", Effect::kNone},
    {"log_*", Effect::kNone},
    {"report_to", Effect::kNone},
    {"run_name", Effect::kNone},
    {"project", Effect::kNone},
    {"trackio*", Effect::kNone},
    {"disable_tqdm", Effect::kNone},
    {"push_to_hub*", Effect::kNone},
    {"hub_*", Effect::kNone},
    {"dataloader_*", Effect::kNone},
    {"remove_unused_columns", Effect::kNone},
    {"label_names", Effect::kNone},
    {"group_by_length", Effect::kNone},
    {"length_column_name", Effect::kNone},
    {"train_sampling_strategy", Effect::kNone},
    {"ddp_*", Effect::kNone},
    {"local_rank", Effect::kNone},
    {"resume_from_checkpoint", Effect::kNone},
    {"ignore_data_skip", Effect::kNone},
    {"skip_memory_metrics", Effect::kNone},
    {"prediction_loss_only", Effect::kNone},
    {"accelerator_config*", Effect::kFree},
    {"average_tokens_across_devices", Effect::kNone},
    {"use_legacy_prediction_loop", Effect::kNone},
    {"debug", Effect::kNone},
    {"generation_*", Effect::kNone},
};

// What scripts around the Trainer call their other arguments: examples/pytorch, Alpaca, FastChat.
constexpr KeyRow kScripts[] = {
    {"model_name_or_path", Effect::kSays, Term::kModel},
    {"torch_dtype", Effect::kSays, Term::kLoadDtype},
    {"dtype", Effect::kSays, Term::kLoadDtype},
    {"attn_implementation", Effect::kSays, Term::kAttention},
    {"block_size", Effect::kSays, Term::kLength},
    {"model_max_length", Effect::kSays, Term::kLength},
    {"max_seq_length", Effect::kSays, Term::kLength},
    {"max_length", Effect::kSays, Term::kLength},
    {"use_peft", Effect::kSays, Term::kAdapter},
    {"lora_r", Effect::kSays, Term::kLoraRank},
    {"lora_rank", Effect::kSays, Term::kLoraRank},
    {"lora_dropout", Effect::kSays, Term::kLoraDropout},
    {"lora_target_modules", Effect::kSays, Term::kLoraTargets},
    {"lora_alpha", Effect::kNone},
    {"load_in_4bit", Effect::kSays, Term::kLoad4bit},
    {"load_in_8bit", Effect::kSays, Term::kLoad8bit},
    {"tokenizer_name", Effect::kNone},
    {"config_name", Effect::kNone},
    {"trust_remote_code", Effect::kNone},
    {"model_revision", Effect::kNone},
    {"cache_dir", Effect::kNone},
    {"data_path", Effect::kNone},
    {"dataset*", Effect::kNone},
    {"train_file", Effect::kNone},
    {"validation_*", Effect::kNone},
    {"preprocessing_num_workers", Effect::kNone},
    {"lazy_preprocess", Effect::kNone},
};

constexpr FixRow kFixes[] = {
    {"--load-dtype bf16", "torch_dtype", "bfloat16"},
    {"--load-dtype fp16", "torch_dtype", "float16"},
    {"--micro-batch", "per_device_train_batch_size", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--seq-len", "model_max_length", ""},
    {"--gradient-checkpointing", "gradient_checkpointing", "true"},
    {"--optimizer adamw-8bit", "optim", "adamw_bnb_8bit"},
    {"--loss liger", "use_liger_kernel", "true"},
};

int Score(const config::Node& root) {
  return CountKeys(root, {"per_device_train_batch_size", "per_gpu_train_batch_size", "output_dir",
                          "gradient_accumulation_steps", "learning_rate", "num_train_epochs",
                          "model_name_or_path", "bf16", "fp16", "save_steps", "warmup_ratio",
                          "lr_scheduler_type", "gradient_checkpointing", "optim"});
}

// Alpaca's script and its descendants are told by their `data_path`.
void FillAlpaca(Draft& draft) {
  const std::vector<KeyUse>& keys = draft.keys();
  const bool is_alpaca = std::any_of(keys.begin(), keys.end(), [](const KeyUse& use) {
    return use.key == "data_path" && use.tool == kTool;
  });
  if (!is_alpaca) return;
  draft.Default(Term::kLength,
                SaidCount(512, kTool,
                          "stanford_alpaca train.py, FastChat fastchat/train/train.py, "
                          "LLaVA llava/train/train.py: model_max_length"));
}

void Finish(Draft& draft) {
  FillTrainingArguments(draft, kTool);
  FillAlpaca(draft);
  draft.Default(Term::kCheckpointing,
                SaidFlag(false, kTool, "transformers/training_args.py: gradient_checkpointing"));
  draft.Default(Term::kLoadDtype,
                SaidWord("auto", kTool, "transformers 5 from_pretrained: dtype=\"auto\""));
}

}  // namespace

std::span<const KeyRow> TrainingArgumentRows() { return kTrainingArguments; }

void FillTrainingArguments(Draft& draft, std::string_view tool) {
  ReadFsdpWords(draft);
  draft.Default(Term::kMicroBatch,
                SaidCount(8, tool, "transformers/training_args.py: per_device_train_batch_size"));
  draft.Default(Term::kAccumulation,
                SaidCount(1, tool, "transformers/training_args.py: gradient_accumulation_steps"));
  const Said* optimizer = draft.Find(Term::kOptimizer);
  if (optimizer == nullptr) {
    draft.Default(Term::kOptimizer,
                  SaidWord("adamw_torch_fused", tool,
                           "transformers/training_args.py: default_optim for torch >= 2.8"));
  }
}

void ReadFsdpWords(Draft& draft) {
  const Said* said = draft.Find(Term::kFsdpStrategy);
  if (said == nullptr) return;
  std::string words = said->word;
  for (char& c : words) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ',') c = ' ';
  }
  const bool has = !words.empty() && words != "false";
  // A bare "false" of reshard_after_forward belongs to an FSDP that was switched on elsewhere.
  if (has && !draft.Has(Term::kFsdp)) draft.Mean(Term::kFsdp, SaidFlag(true, said->tool, ""));
  if ((" " + words + " ").find(" offload ") != std::string::npos) {
    draft.Mean(Term::kFsdpOffload, SaidFlag(true, said->tool, ""));
  }
  Said strategy = *said;
  strategy.word = "full_shard";
  for (const std::string_view known :
       {"shard_grad_op", "hybrid_shard_zero2", "hybrid_shard", "no_shard"}) {
    if (words.find(known) != std::string::npos) {
      strategy.word = known;
      break;
    }
  }
  if (words == "false") strategy.word = "shard_grad_op";
  draft.Mean(Term::kFsdpStrategy, std::move(strategy));
}

const Dialect& Transformers() {
  static const Dialect kDialect = {.name = "transformers",
                                   .title = "transformers arguments",
                                   .framework = "transformers",
                                   .rows = kScripts,
                                   .more_rows = kTrainingArguments,
                                   .known = {"transformers"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
