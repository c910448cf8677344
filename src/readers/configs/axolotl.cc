// axolotl 0.19.0: axolotl/utils/schemas, as YAML.
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "axolotl";

constexpr KeyRow kRows[] = {
    {"base_model", Effect::kSays, Term::kModel},
    {"rl", Effect::kRefused, Term::kNone, "preference and reinforcement learning"},
    {"adapter", Effect::kSays, Term::kAdapter},
    {"load_in_4bit", Effect::kSays, Term::kLoad4bit},
    {"load_in_8bit", Effect::kSays, Term::kLoad8bit},
    {"micro_batch_size", Effect::kSays, Term::kMicroBatch},
    {"gradient_accumulation_steps", Effect::kSays, Term::kAccumulation},
    {"batch_size", Effect::kSays, Term::kGlobalBatch},
    {"sequence_len", Effect::kSays, Term::kLength},
    {"sample_packing", Effect::kSays, Term::kPacking},
    {"bf16", Effect::kSays, Term::kMixedPrecision},
    {"bfloat16", Effect::kSays, Term::kPureBf16},
    {"fp16", Effect::kSays, Term::kFp16},
    {"float16", Effect::kSays, Term::kPureFp16},
    {"optimizer", Effect::kSays, Term::kOptimizer},
    {"gradient_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"gradient_checkpointing_kwargs*", Effect::kFree},
    {"attn_implementation", Effect::kSays, Term::kAttention},
    {"flash_attention", Effect::kSays, Term::kAttention},
    {"sdp_attention", Effect::kSays, Term::kAttention},
    {"eager_attention", Effect::kSays, Term::kAttention},
    {"xformers_attention", Effect::kSays, Term::kAttention},
    {"lora_r", Effect::kSays, Term::kLoraRank},
    {"lora_dropout", Effect::kSays, Term::kLoraDropout},
    {"lora_target_linear", Effect::kNone},
    {"lora_target_modules", Effect::kSays, Term::kLoraTargets},
    {"lora_modules_to_save", Effect::kSays, Term::kModulesToSave},
    {"lora_alpha", Effect::kNone},
    {"lora_fan_in_fan_out", Effect::kNone},
    {"lora_model_dir", Effect::kNotCounted, Term::kNone, "an adapter to go on with"},
    {"lora_mlp_kernel", Effect::kRefused, Term::kNone, "axolotl's LoRA kernels"},
    {"lora_qkv_kernel", Effect::kRefused, Term::kNone, "axolotl's LoRA kernels"},
    {"lora_o_kernel", Effect::kRefused, Term::kNone, "axolotl's LoRA kernels"},
    {"lora_embedding_kernel", Effect::kRefused, Term::kNone, "axolotl's LoRA kernels"},
    {"peft_use_rslora", Effect::kNone},
    {"peft_use_dora", Effect::kRefused, Term::kNone, "DoRA"},
    {"lora_target_parameters", Effect::kRefused, Term::kNone, "adapters on bare parameters"},
    {"relora", Effect::kRefused, Term::kNone, "ReLoRA"},
    {"lisa_n_layers", Effect::kRefused, Term::kNone, "LISA"},
    {"unfrozen_parameters", Effect::kRefused, Term::kNone, "training of chosen parameters"},
    {"qat", Effect::kRefused, Term::kNone, "quantization-aware training"},
    {"fp8", Effect::kRefused, Term::kNone, "fp8"},
    {"tensor_parallel_size", Effect::kSays, Term::kTensorParallel},
    {"context_parallel_size", Effect::kSays, Term::kContextParallel},
    {"sequence_parallel_degree", Effect::kSays, Term::kContextParallel},
    {"torch_compile", Effect::kRefused, Term::kNone, "torch.compile"},
    {"activation_offloading", Effect::kRefused, Term::kNone, "offload of activations"},
    {"layer_offloading", Effect::kRefused, Term::kNone, "offload of layers"},
    {"tiled_mlp", Effect::kRefused, Term::kNone, "tiled MLPs"},
    {"chunked_cross_entropy", Effect::kRefused, Term::kNone, "axolotl's chunked cross entropy"},
    {"cut_cross_entropy", Effect::kRefused, Term::kNone, "cut cross entropy"},
    {"flash_attn_cross_entropy", Effect::kRefused, Term::kNone, "flash-attention's cross entropy"},
    {"flash_attn_fuse_mlp", Effect::kRefused, Term::kNone, "flash-attention's fused MLP"},
    {"flex_attention", Effect::kRefused, Term::kNone, "flex attention"},
    {"s2_attention", Effect::kRefused, Term::kNone, "shifted sparse attention"},
    {"flash_optimum", Effect::kRefused, Term::kNone, "BetterTransformer"},
    {"plugins", Effect::kFree},
    {"liger_rope", Effect::kSays, Term::kLiger},
    {"liger_rms_norm", Effect::kSays, Term::kLiger},
    {"liger_swiglu", Effect::kSays, Term::kLiger},
    {"liger_glu_activation", Effect::kSays, Term::kLiger},
    {"liger_layer_norm", Effect::kNone},
    {"liger_fused_linear_cross_entropy", Effect::kSays, Term::kLossKernel},
    {"liger_cross_entropy", Effect::kSays, Term::kLossKernel},
    {"deepspeed", Effect::kFree},
    {"fsdp", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config", Effect::kBlock},
    {"fsdp_config.version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config.fsdp_version", Effect::kSays, Term::kFsdpVersion},
    {"fsdp_config.offload_params", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.fsdp_offload_params", Effect::kSays, Term::kFsdpOffload},
    {"fsdp_config.reshard_after_forward", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.fsdp_reshard_after_forward", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.sharding_strategy", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.fsdp_sharding_strategy", Effect::kSays, Term::kFsdpStrategy},
    {"fsdp_config.activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"fsdp_config.fsdp_activation_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"fsdp_config.*", Effect::kNone},
    {"fsdp_final_state_dict_type", Effect::kNone},
    {"dp_shard_size", Effect::kNotCounted, Term::kNone, "how far FSDP shards"},
    {"dp_replicate_size", Effect::kRefused, Term::kNone, "hybrid sharding"},
    {"neftune_noise_alpha", Effect::kNotCounted, Term::kNone, "noise on the embeddings' output"},
    {"auto_find_batch_size", Effect::kNotCounted, Term::kNone, "a search for the batch"},
    {"val_set_size", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"test_datasets", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"save_steps", Effect::kNotCounted, Term::kNone, "the memory of saving"},
    {"saves_per_epoch", Effect::kNotCounted, Term::kNone, "the memory of saving"},
    {"save_strategy", Effect::kNotCounted, Term::kNone, "the memory of saving"},
    {"resize_token_embeddings_to_32x", Effect::kNotCounted, Term::kNone, "a larger vocabulary"},
    {"added_tokens_overrides*", Effect::kFree},
    {"tokens", Effect::kNotCounted, Term::kNone, "a larger vocabulary"},
    {"base_model_config", Effect::kNone},
    {"tokenizer_*", Effect::kNone},
    {"model_type", Effect::kNone},
    {"is_*", Effect::kNone},
    {"trust_remote_code", Effect::kNone},
    {"datasets*", Effect::kFree},
    {"dataset*", Effect::kFree},
    {"pretraining_dataset*", Effect::kFree},
    {"shuffle_*", Effect::kNone},
    {"chat_template*", Effect::kNone},
    {"default_system_message", Effect::kNone},
    {"train_on_inputs", Effect::kNone},
    {"eval_*", Effect::kNone},
    {"evals_per_epoch", Effect::kNone},
    {"sample_packing_*", Effect::kNone},
    {"pad_to_sequence_len", Effect::kNone},
    {"pad_to_multiple_of", Effect::kNone},
    {"group_by_length", Effect::kNone},
    {"output_dir", Effect::kNone},
    {"hub_*", Effect::kNone},
    {"push_dataset_to_hub", Effect::kNone},
    {"wandb_*", Effect::kNone},
    {"use_wandb", Effect::kNone},
    {"mlflow_*", Effect::kNone},
    {"use_mlflow", Effect::kNone},
    {"comet_*", Effect::kNone},
    {"use_comet", Effect::kNone},
    {"trackio_*", Effect::kNone},
    {"use_tensorboard", Effect::kNone},
    {"learning_rate", Effect::kNone},
    {"lr_*", Effect::kNone},
    {"cosine_*", Effect::kNone},
    {"warmup_*", Effect::kNone},
    {"weight_decay", Effect::kNone},
    {"adam_*", Effect::kNone},
    {"max_grad_norm", Effect::kNone},
    {"num_epochs", Effect::kNone},
    {"max_steps", Effect::kNone},
    {"tf32", Effect::kNone},
    {"seed", Effect::kNone},
    {"strict", Effect::kNone},
    {"logging_steps", Effect::kNone},
    {"early_stopping_patience", Effect::kNone},
    {"load_best_model_at_end", Effect::kNone},
    {"metric_for_best_model", Effect::kNone},
    {"greater_is_better", Effect::kNone},
    {"resume_from_checkpoint", Effect::kNone},
    {"auto_resume_from_checkpoints", Effect::kNone},
    {"local_rank", Effect::kNone},
    {"save_*", Effect::kNone},
    {"special_tokens*", Effect::kFree},
    {"debug", Effect::kNone},
    {"loss_watchdog_*", Effect::kNone},
    {"ddp_*", Effect::kNone},
    {"dataloader_*", Effect::kNone},
    {"remove_unused_columns", Effect::kNone},
    {"low_cpu_mem_usage", Effect::kNone},
    {"device_map", Effect::kNone},
    {"lora_on_cpu", Effect::kNone},
    {"include_tkps", Effect::kNone},
    {"experimental_skip_move_to_device", Effect::kNone},
};

constexpr FixRow kFixes[] = {
    {"--micro-batch", "micro_batch_size", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--seq-len", "sequence_len", ""},
    {"--gradient-checkpointing", "gradient_checkpointing", "true"},
    {"--optimizer adamw-8bit", "optimizer", "adamw_bnb_8bit"},
    {"--attention sdpa", "sdp_attention", "true"},
    {"--method lora", "adapter", "lora"},
    {"--method qlora", "adapter", "qlora"},
};

int Score(const config::Node& root) {
  return 3 * CountKeys(root,
                       {"base_model", "micro_batch_size", "sequence_len", "sample_packing",
                        "val_set_size", "dataset_prepared_path", "num_epochs", "lora_target_linear",
                        "adapter", "special_tokens", "wandb_project", "flash_attention"});
}

// Several switches name the attention; `attn_implementation` names it by a word.
void ReadAttention(Draft& draft) {
  const Said* said = draft.Find(Term::kAttention);
  if (said == nullptr || said->key == "attn_implementation") return;
  if (said->word != "true") return draft.Forget(Term::kAttention);
  if (said->key == "xformers_attention") {
    return draft.Refuse(said->span, said->key, "xformers attention");
  }
  const std::string_view word = said->key == "flash_attention" ? "flash2"
                                : said->key == "sdp_attention" ? "sdpa"
                                                               : "eager";
  draft.Mean(Term::kAttention, SaidWord(word, kTool, ""));
}

void ReadPrecision(Draft& draft) {
  const Said* bf16 = draft.Find(Term::kMixedPrecision);
  const bool is_fp16 = draft.Flag(Term::kFp16);
  const std::string word = bf16 == nullptr ? "auto" : bf16->word;
  const bool is_half = draft.Flag(Term::kPureBf16) || draft.Flag(Term::kPureFp16);
  if (bf16 == nullptr && !is_fp16 && !is_half) {
    draft.Default(Term::kBf16, SaidFlag(true, kTool, "axolotl/utils/schemas/config.py: bf16=auto"));
  } else if (word == "true" || word == "full" || (word == "auto" && !is_fp16)) {
    draft.Default(Term::kBf16, SaidFlag(true, kTool, "bf16"));
  }
  draft.Forget(Term::kMixedPrecision);
  const bool is_bf16 = draft.Flag(Term::kBf16) || draft.Flag(Term::kPureBf16);
  const bool is_16 = draft.Flag(Term::kLoad8bit) || is_fp16 || draft.Flag(Term::kPureFp16);
  draft.Default(Term::kLoadDtype,
                SaidWord(is_bf16 ? "bfloat16"
                         : is_16 ? "float16"
                                 : "float32",
                         kTool, "axolotl/utils/config/__init__.py: resolve_dtype"));
}

void ReadAdapters(Draft& draft) {
  const Said* adapter = draft.Find(Term::kAdapter);
  if (adapter == nullptr) return;
  if (adapter->word != "lora" && adapter->word != "qlora") {
    return draft.Refuse(adapter->span, adapter->key, "adapter " + adapter->word);
  }
  if (adapter->word == "qlora") {
    draft.Default(Term::kDoubleQuant,
                  SaidFlag(true, kTool, "axolotl/loaders/model.py: bnb_4bit_use_double_quant"));
  }
  // prepare_model_for_kbit_training casts 16-bit parameters up, the call after it casts norms,
  // embedding and head back to torch_dtype (loaders/model.py, _configure_embedding_dtypes).
  draft.Default(
      Term::kKbitPreparation,
      SaidFlag(false, kTool, "axolotl/loaders/model.py: cast back after the preparation"));
  Said all;
  all.names = {"all-linear"};
  all.tool = kTool;
  all.source = "axolotl: lora_target_linear";
  draft.Default(Term::kLoraTargets, std::move(all));
}

void ReadLoss(Draft& draft) {
  const Said* said = draft.Find(Term::kLossKernel);
  if (said == nullptr) return;
  if (said->word != "true") return draft.Forget(Term::kLossKernel);
  const bool is_fused = said->key == "liger_fused_linear_cross_entropy";
  draft.Mean(Term::kLossKernel, SaidWord(is_fused ? "liger" : "in-place", kTool, ""));
}

void Finish(Draft& draft) {
  ReadFsdpWords(draft);
  draft.Default(Term::kMicroBatch,
                SaidCount(1, kTool, "axolotl/utils/schemas/training.py: micro_batch_size"));
  draft.Default(Term::kAccumulation, SaidCount(1, kTool,
                                               "axolotl/utils/schemas/training.py: "
                                               "gradient_accumulation_steps"));
  draft.Default(Term::kLength,
                SaidCount(512, kTool, "axolotl/utils/schemas/config.py: sequence_len"));
  draft.Default(Term::kOptimizer, SaidWord("adamw_torch_fused", kTool,
                                           "axolotl/utils/schemas/training.py: "
                                           "optimizer"));
  draft.Default(Term::kCheckpointing,
                SaidFlag(false, kTool, "axolotl/utils/schemas/config.py: gradient_checkpointing"));
  ReadPrecision(draft);
  ReadAttention(draft);
  ReadAdapters(draft);
  ReadLoss(draft);
  // Liger's norm and rotary kernels do not bring its loss here: that has a switch of its own.
  if (draft.Has(Term::kLiger))
    draft.Default(Term::kLossKernel, SaidWord("plain", kTool, "axolotl"));
}

}  // namespace

const Dialect& Axolotl() {
  static const Dialect kDialect = {.name = "axolotl",
                                   .title = "axolotl 0.19.0",
                                   .framework = "transformers",
                                   .rows = kRows,
                                   .known = {"axolotl"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
