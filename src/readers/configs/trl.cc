// TRL 1.16.0: SFTConfig, ModelConfig, ScriptArguments (trl sft, trl/scripts/sft.py).
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "trl";

constexpr KeyRow kRows[] = {
    {"model_name_or_path", Effect::kSays, Term::kModel},
    {"dtype", Effect::kSays, Term::kLoadDtype},
    {"torch_dtype", Effect::kSays, Term::kLoadDtype},
    {"model_init_kwargs", Effect::kBlock},
    {"model_init_kwargs.dtype", Effect::kSays, Term::kLoadDtype},
    {"model_init_kwargs.torch_dtype", Effect::kSays, Term::kLoadDtype},
    {"model_init_kwargs.attn_implementation", Effect::kSays, Term::kAttention},
    {"model_init_kwargs.use_cache", Effect::kNone},
    {"model_init_kwargs.use_kernels", Effect::kRefused, Term::kNone, "kernels from the hub"},
    {"attn_implementation", Effect::kSays, Term::kAttention},
    {"max_length", Effect::kSays, Term::kLength},
    {"max_seq_length", Effect::kSays, Term::kLength},
    {"packing", Effect::kSays, Term::kPacking},
    {"padding_free", Effect::kSays, Term::kPaddingFree},
    {"packing_strategy", Effect::kNone},
    {"eval_packing", Effect::kNone},
    {"use_peft", Effect::kSays, Term::kAdapter},
    {"lora_r", Effect::kSays, Term::kLoraRank},
    {"lora_dropout", Effect::kSays, Term::kLoraDropout},
    {"lora_target_modules", Effect::kSays, Term::kLoraTargets},
    {"lora_modules_to_save", Effect::kSays, Term::kModulesToSave},
    {"lora_target_parameters", Effect::kRefused, Term::kNone, "adapters on bare parameters"},
    {"lora_alpha", Effect::kNone},
    {"lora_task_type", Effect::kNone},
    {"use_rslora", Effect::kNone},
    {"use_dora", Effect::kRefused, Term::kNone, "DoRA"},
    {"load_in_4bit", Effect::kSays, Term::kLoad4bit},
    {"load_in_8bit", Effect::kSays, Term::kLoad8bit},
    {"use_bnb_nested_quant", Effect::kSays, Term::kDoubleQuant},
    {"bnb_4bit_quant_type", Effect::kNone},
    {"bnb_4bit_quant_storage", Effect::kNone},
    {"loss_type", Effect::kSays, Term::kLossKernel},
    {"activation_offloading", Effect::kRefused, Term::kNone, "offload of activations"},
    {"router_aux_loss_coef", Effect::kNotCounted, Term::kNone, "the routers' auxiliary loss"},
    {"dataset*", Effect::kNone},
    {"datasets*", Effect::kFree},
    {"test_split_size", Effect::kNone},
    {"streaming", Effect::kNone},
    {"shuffle_dataset", Effect::kNone},
    {"chat_template_path", Effect::kNone},
    {"completion_only_loss", Effect::kNone},
    {"assistant_only_loss", Effect::kNone},
    {"truncation_mode", Effect::kNone},
    {"pad_to_multiple_of", Effect::kNone},
    {"pad_token", Effect::kNone},
    {"eos_token", Effect::kNone},
    {"trust_remote_code", Effect::kNone},
    {"model_revision", Effect::kNone},
    {"ignore_bias_buffers", Effect::kNone},
    {"beta", Effect::kRefused, Term::kTask, "preference and reinforcement trainers (DPO, GRPO)"},
    {"max_prompt_length", Effect::kRefused, Term::kTask, "preference trainers (DPO, ORPO, KTO)"},
    {"num_generations", Effect::kRefused, Term::kTask, "GRPO"},
    {"use_vllm", Effect::kRefused, Term::kTask, "generation by vLLM"},
};

constexpr FixRow kFixes[] = {
    {"--load-dtype bf16", "dtype", "bfloat16"},
    {"--load-dtype fp16", "dtype", "float16"},
    {"--micro-batch", "per_device_train_batch_size", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--seq-len", "max_length", ""},
    {"--gradient-checkpointing", "gradient_checkpointing", "true"},
    {"--optimizer adamw-8bit", "optim", "adamw_bnb_8bit"},
    {"--loss liger", "use_liger_kernel", "true"},
    {"--attention sdpa", "attn_implementation", "sdpa"},
    {"--precision bf16-pure", "dtype", "bfloat16"},
    {"--method lora", "use_peft", "true"},
    {"--method qlora", "load_in_4bit", "true"},
};

int Score(const config::Node& root) {
  const int own =
      CountKeys(root, {"max_length", "packing", "dataset_name", "dataset_text_field", "use_peft",
                       "dataset_train_split", "model_init_kwargs", "max_seq_length",
                       "assistant_only_loss", "padding_free", "loss_type", "lora_target_modules"});
  return own == 0 ? 0 : own + Transformers().score(root) + 1;
}

void Finish(Draft& draft) {
  FillTrainingArguments(draft, kTool);
  draft.Default(Term::kCheckpointing,
                SaidFlag(true, kTool, "trl/trainer/base_config.py: gradient_checkpointing"));
  draft.Default(Term::kLength, SaidCount(1024, kTool, "trl/trainer/sft_config.py: max_length"));
  if (!draft.Flag(Term::kFp16) && !draft.Has(Term::kMixedPrecision)) {
    draft.Default(Term::kBf16,
                  SaidFlag(true, kTool, "trl/trainer/base_config.py: bf16 unless fp16"));
  }
  draft.Default(Term::kLoadDtype, SaidWord("float32", kTool, "trl/trainer/model_config.py: dtype"));
  const bool is_4bit = draft.Flag(Term::kLoad4bit);
  const bool has_adapter = draft.Word(Term::kAdapter) == "true";
  draft.Mean(Term::kAdapter, SaidWord(has_adapter ? "lora" : "none", kTool, ""));
  if (has_adapter) {
    draft.Default(Term::kLoraRank, SaidCount(16, kTool, "trl/trainer/model_config.py: lora_r"));
    Said dropout;
    dropout.fraction = 0.05;
    dropout.tool = kTool;
    dropout.source = "trl/trainer/model_config.py: lora_dropout";
    draft.Default(Term::kLoraDropout, std::move(dropout));
  }
  if (is_4bit) {
    draft.Default(Term::kDoubleQuant,
                  SaidFlag(false, kTool, "trl/trainer/model_config.py: use_bnb_nested_quant"));
  }
  // loss_type: "nll" is the chunked kernel by default, "chunked_nll" its older name.
  const std::string_view loss = draft.Word(Term::kLossKernel);
  if (loss == "chunked_nll") {
    draft.Mean(Term::kLossKernel, SaidWord("chunked", kTool, ""));
  } else if (loss == "nll" || loss.empty()) {
    draft.Forget(Term::kLossKernel);
  } else {
    draft.Refuse(draft.Find(Term::kLossKernel)->span, "loss_type", "loss " + std::string(loss));
  }
}

}  // namespace

const Dialect& Trl() {
  static const Dialect kDialect = {.name = "trl",
                                   .title = "TRL 1.16.0",
                                   .framework = "trl",
                                   .rows = kRows,
                                   .more_rows = TrainingArgumentRows(),
                                   .known = {"trl", "transformers"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
