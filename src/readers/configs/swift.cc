// ms-swift 4.6.0: the dataclasses of swift/arguments and swift/trainers (`swift sft`, `swift pt`).
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "swift";

constexpr KeyRow kRows[] = {
    {"model", Effect::kSays, Term::kModel},
    {"model_id_or_path", Effect::kSays, Term::kModel},
    {"tuner_type", Effect::kSays, Term::kAdapter},
    {"train_type", Effect::kSays, Term::kAdapter},
    {"sft_type", Effect::kSays, Term::kAdapter},
    {"torch_dtype", Effect::kSays, Term::kLoadDtype},
    {"dtype", Effect::kSays, Term::kLoadDtype},
    {"attn_impl", Effect::kSays, Term::kAttention},
    {"max_length", Effect::kSays, Term::kLength},
    {"packing", Effect::kSays, Term::kPacking},
    {"padding_free", Effect::kSays, Term::kPaddingFree},
    {"target_modules", Effect::kSays, Term::kLoraTargets},
    {"modules_to_save", Effect::kSays, Term::kModulesToSave},
    {"lora_rank", Effect::kSays, Term::kLoraRank},
    {"lora_dropout", Effect::kSays, Term::kLoraDropout},
    {"lora_dtype", Effect::kSays, Term::kAdapterDtype},
    {"quant_bits", Effect::kSays, Term::kQuantBits},
    {"quant_method", Effect::kNone},
    {"bnb_4bit_use_double_quant", Effect::kSays, Term::kDoubleQuant},
    {"bnb_4bit_*", Effect::kNone},
    {"deepspeed", Effect::kSays, Term::kBuiltInDeepSpeed},
    {"zero_hpz_partition_size", Effect::kRefused, Term::kNone, "hpZ (ZeRO++)"},
    {"deepspeed_autotp_size", Effect::kRefused, Term::kNone, "DeepSpeed's tensor parallelism"},
    {"sequence_parallel_size", Effect::kSays, Term::kContextParallel},
    {"tuner_backend", Effect::kRefused, Term::kNone, "unsloth"},
    {"rlhf_type", Effect::kRefused, Term::kNone, "preference and reinforcement training"},
    {"use_galore", Effect::kRefused, Term::kNone, "GaLore"},
    {"optimizer", Effect::kRefused, Term::kNone, "ms-swift's own optimizers"},
    {"lisa_activated_layers", Effect::kRefused, Term::kNone, "LISA"},
    {"use_dora", Effect::kRefused, Term::kNone, "DoRA"},
    {"lora_bias", Effect::kRefused, Term::kNone, "trained biases"},
    {"target_parameters", Effect::kRefused, Term::kNone, "adapters on bare parameters"},
    {"target_regex", Effect::kRefused, Term::kNone, "LoRA targets by a pattern"},
    {"freeze_parameters*", Effect::kRefused, Term::kNone, "training of chosen parameters"},
    {"trainable_parameters*", Effect::kRefused, Term::kNone, "training of chosen parameters"},
    {"enable_dft_loss", Effect::kRefused, Term::kNone, "the DFT loss"},
    {"loss_type", Effect::kRefused, Term::kNone, "a loss of ms-swift's"},
    {"val_dataset", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"split_dataset_ratio", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"new_special_tokens", Effect::kNotCounted, Term::kNone, "a larger vocabulary"},
    {"adapters", Effect::kNotCounted, Term::kNone, "an adapter to go on with"},
    {"router_aux_loss_coef", Effect::kNotCounted, Term::kNone, "the routers' auxiliary loss"},
    {"lora_alpha", Effect::kNone},
    {"use_rslora", Effect::kNone},
    {"init_weights", Effect::kNone},
    {"freeze_*", Effect::kNone},
    {"model_*", Effect::kNone},
    {"task_type", Effect::kNone},
    {"use_hf", Effect::kNone},
    {"dataset*", Effect::kNone},
    {"cached_*", Effect::kNone},
    {"custom_*", Effect::kNone},
    {"external_plugins", Effect::kNone},
    {"system", Effect::kNone},
    {"template*", Effect::kNone},
    {"truncation_strategy", Effect::kNone},
    {"loss_scale", Effect::kNone},
    {"streaming", Effect::kNone},
    {"shuffle_buffer_size", Effect::kNone},
    {"load_from_cache_file", Effect::kNone},
    {"lazy_tokenize", Effect::kNone},
    {"packing_*", Effect::kNone},
    {"swanlab_*", Effect::kNone},
    {"add_version", Effect::kNone},
    {"create_checkpoint_symlink", Effect::kNone},
    {"max_new_tokens", Effect::kNone},
    {"temperature", Effect::kNone},
    {"response_prefix", Effect::kNone},
    {"max_pixels", Effect::kNone},
    {"rope_scaling", Effect::kNone},
};

constexpr FixRow kFixes[] = {
    {"--micro-batch", "per_device_train_batch_size", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--seq-len", "max_length", ""},
    {"--gradient-checkpointing", "gradient_checkpointing", "true"},
    {"--optimizer adamw-8bit", "optim", "adamw_bnb_8bit"},
    {"--loss liger", "use_liger_kernel", "true"},
    {"--attention sdpa", "attn_impl", "sdpa"},
    {"--method lora", "tuner_type", "lora"},
    {"--sharding zero3", "deepspeed", "zero3"},
};

int Score(const config::Node& root) {
  const int own = CountKeys(
      root, {"tuner_type", "train_type", "sft_type", "model_id_or_path", "attn_impl", "quant_bits",
             "split_dataset_ratio", "sequence_parallel_size", "lazy_tokenize"});
  return own == 0 ? 0 : 4 * own + Transformers().score(root);
}

// swift/config/zero2.json …: sizes are left to transformers ("auto").
void ReadBuiltIn(Draft& draft) {
  const Said* said = draft.Find(Term::kBuiltInDeepSpeed);
  if (said == nullptr) return;
  const std::string word = said->word;
  if (word.find('.') != std::string::npos) return;  // a file, which was read
  const bool is_known = word.size() >= 5 && word.starts_with("zero") && word[4] >= '0' &&
                        word[4] <= '3' && (word.size() == 5 || word.substr(5) == "_offload");
  if (!is_known) return draft.Refuse(said->span, said->key, "DeepSpeed configuration " + word);
  Said stage = SaidCount(word[4] - '0', kTool, "");
  stage.span = said->span;
  stage.key = said->key;
  draft.Say(Term::kZeroStage, stage);
  if (word.size() == 5) return;
  Said offload = SaidWord("cpu", kTool, "");
  offload.span = said->span;
  offload.key = said->key;
  draft.Say(Term::kOffloadOptimizer, offload);
  if (word[4] == '3') draft.Say(Term::kOffloadParameters, offload);
}

void ReadAttention(Draft& draft) {
  const std::string_view word = draft.Word(Term::kAttention);
  if (word == "flash_attn") draft.Mean(Term::kAttention, SaidWord("flash2", kTool, ""));
}

void ReadAdapters(Draft& draft) {
  draft.Default(Term::kAdapter,
                SaidWord("lora", kTool, "swift/arguments/base_args/base_args.py: tuner_type"));
  const Said* adapter = draft.Find(Term::kAdapter);
  if (adapter->word == "full") return draft.Mean(Term::kAdapter, SaidWord("none", kTool, ""));
  if (adapter->word != "lora") {
    return draft.Refuse(adapter->span, adapter->key, "tuner_type " + adapter->word);
  }
  draft.Default(Term::kLoraRank, SaidCount(8, kTool, "swift/arguments/tuner_args.py: lora_rank"));
  Said dropout;
  dropout.fraction = 0.05;
  dropout.tool = kTool;
  dropout.source = "swift/arguments/tuner_args.py: lora_dropout";
  draft.Default(Term::kLoraDropout, std::move(dropout));
  Said all;
  all.names = {"all-linear"};
  all.tool = kTool;
  all.source = "swift/arguments/tuner_args.py: target_modules";
  draft.Default(Term::kLoraTargets, std::move(all));
}

void Finish(Draft& draft) {
  ReadBuiltIn(draft);
  draft.Default(Term::kMicroBatch,
                SaidCount(1, kTool, "swift/trainers/arguments.py: per_device_train_batch_size"));
  draft.Default(Term::kCheckpointing,
                SaidFlag(true, kTool, "swift/trainers/arguments.py: gradient_checkpointing"));
  if (!draft.Flag(Term::kFp16)) {
    draft.Default(Term::kBf16, SaidFlag(true, kTool,
                                        "swift/arguments/base_args/model_args.py: "
                                        "as the checkpoint's type"));
  }
  draft.Default(Term::kLoadDtype,
                SaidWord("auto", kTool, "swift/arguments/base_args/model_args.py: torch_dtype"));
  if (const Said* bits = draft.Find(Term::kQuantBits)) {
    if (bits->word != "4") draft.Refuse(bits->span, bits->key, "weights in " + bits->word + " bit");
    draft.Mean(Term::kLoad4bit, SaidFlag(true, kTool, ""));
    draft.Default(Term::kDoubleQuant,
                  SaidFlag(true, kTool, "swift/arguments/base_args/quant_args.py"));
  }
  ReadAttention(draft);
  ReadAdapters(draft);
  FillTrainingArguments(draft, kTool);
}

}  // namespace

const Dialect& Swift() {
  static const Dialect kDialect = {.name = "swift",
                                   .title = "ms-swift 4.6.0",
                                   .framework = "transformers",
                                   .rows = kRows,
                                   .more_rows = TrainingArgumentRows(),
                                   .known = {"swift", "transformers"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
