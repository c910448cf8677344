// LLaMA-Factory 0.9.5: the dataclasses of llamafactory/hparams, as YAML, JSON or command line.
#include <string>

#include "readers/configs/dialect.h"

namespace trainfit::readers {
namespace {

constexpr std::string_view kTool = "llamafactory";

constexpr KeyRow kRows[] = {
    {"model_name_or_path", Effect::kSays, Term::kModel},
    {"stage", Effect::kSays, Term::kTask},
    {"finetuning_type", Effect::kSays, Term::kAdapter},
    {"cutoff_len", Effect::kSays, Term::kLength},
    {"packing", Effect::kSays, Term::kPacking},
    {"neat_packing", Effect::kSays, Term::kPacking},
    {"lora_rank", Effect::kSays, Term::kLoraRank},
    {"lora_dropout", Effect::kSays, Term::kLoraDropout},
    {"lora_target", Effect::kSays, Term::kLoraTargets},
    {"additional_target", Effect::kSays, Term::kModulesToSave},
    {"lora_alpha", Effect::kNone},
    {"use_rslora", Effect::kNone},
    {"loraplus_*", Effect::kNone},
    {"use_dora", Effect::kRefused, Term::kNone, "DoRA"},
    {"pissa_*", Effect::kNotCounted, Term::kNone, "PiSSA's start"},
    {"quantization_bit", Effect::kSays, Term::kQuantBits},
    {"double_quantization", Effect::kSays, Term::kDoubleQuant},
    {"quantization_type", Effect::kNone},
    {"pure_bf16", Effect::kSays, Term::kPureBf16},
    {"flash_attn", Effect::kSays, Term::kAttention},
    {"enable_liger_kernel", Effect::kSays, Term::kLiger},
    {"disable_gradient_checkpointing", Effect::kSays, Term::kCheckpointing},
    {"use_reentrant_gc", Effect::kNone},
    {"use_unsloth", Effect::kRefused, Term::kNone, "unsloth"},
    {"use_unsloth_gc", Effect::kRefused, Term::kNone, "unsloth's checkpointing on the host"},
    {"use_galore", Effect::kRefused, Term::kNone, "GaLore"},
    {"use_apollo", Effect::kRefused, Term::kNone, "APOLLO"},
    {"use_badam", Effect::kRefused, Term::kNone, "BAdam"},
    {"use_adam_mini", Effect::kRefused, Term::kNone, "Adam-mini"},
    {"use_muon", Effect::kRefused, Term::kNone, "Muon"},
    {"use_kt", Effect::kRefused, Term::kNone, "KTransformers"},
    {"use_mca", Effect::kRefused, Term::kNone, "Megatron-Core"},
    {"use_hyper_parallel", Effect::kRefused, Term::kNone, "HyperParallel"},
    {"use_llama_pro", Effect::kRefused, Term::kNone, "LLaMA Pro"},
    {"use_dft_loss", Effect::kRefused, Term::kNone, "the DFT loss"},
    {"use_asft_loss", Effect::kRefused, Term::kNone, "the ASFT loss"},
    {"use_eaft_loss", Effect::kRefused, Term::kNone, "the EAFT loss"},
    {"fp8", Effect::kRefused, Term::kNone, "fp8"},
    {"mixture_of_depths", Effect::kRefused, Term::kNone, "mixture of depths"},
    {"shift_attn", Effect::kRefused, Term::kNone, "shifted sparse attention"},
    {"adapter_name_or_path", Effect::kNotCounted, Term::kNone, "an adapter to go on with"},
    {"resize_vocab", Effect::kNotCounted, Term::kNone, "a larger vocabulary"},
    {"upcast_layernorm", Effect::kNotCounted, Term::kNone, "norms in fp32"},
    {"upcast_lmhead_output", Effect::kNotCounted, Term::kNone, "logits in fp32"},
    {"moe_aux_loss_coef", Effect::kNotCounted, Term::kNone, "the routers' auxiliary loss"},
    {"val_size", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"eval_dataset", Effect::kNotCounted, Term::kNone, "the memory of evaluation"},
    {"template", Effect::kNone},
    {"dataset*", Effect::kNone},
    {"media_dir", Effect::kNone},
    {"max_samples", Effect::kNone},
    {"overwrite_cache", Effect::kNone},
    {"preprocessing_*", Effect::kNone},
    {"streaming", Effect::kNone},
    {"buffer_size", Effect::kNone},
    {"mix_strategy", Effect::kNone},
    {"interleave_probs", Effect::kNone},
    {"train_on_prompt", Effect::kNone},
    {"mask_history", Effect::kNone},
    {"tokenized_path", Effect::kNone},
    {"tool_format", Effect::kNone},
    {"default_system", Effect::kNone},
    {"enable_thinking", Effect::kNone},
    {"data_shared_file_system", Effect::kNone},
    {"plot_loss", Effect::kNone},
    {"compute_accuracy", Effect::kNone},
    {"use_swanlab", Effect::kNone},
    {"swanlab_*", Effect::kNone},
    {"ray_*", Effect::kNone},
    {"trust_remote_code", Effect::kNone},
    {"cache_dir", Effect::kNone},
    {"model_revision", Effect::kNone},
    {"use_fast_tokenizer", Effect::kNone},
    {"rope_scaling", Effect::kNone},
    {"low_cpu_mem_usage", Effect::kNone},
    {"include_effective_tokens_per_second", Effect::kNone},
    {"infer_*", Effect::kNone},
    {"export_*", Effect::kNone},
    {"vllm_*", Effect::kNone},
    {"sglang_*", Effect::kNone},
    {"image_*", Effect::kNone},
    {"video_*", Effect::kNone},
    {"freeze_vision_tower", Effect::kNone},
    {"freeze_multi_modal_projector", Effect::kNone},
    {"pref_*", Effect::kNone},
    {"do_sample", Effect::kNone},
    {"temperature", Effect::kNone},
    {"top_p", Effect::kNone},
    {"top_k", Effect::kNone},
    {"num_beams", Effect::kNone},
    {"max_new_tokens", Effect::kNone},
};

constexpr FixRow kFixes[] = {
    {"--micro-batch", "per_device_train_batch_size", ""},
    {"--gradient-accumulation", "gradient_accumulation_steps", ""},
    {"--seq-len", "cutoff_len", ""},
    {"--gradient-checkpointing", "disable_gradient_checkpointing", "false"},
    {"--optimizer adamw-8bit", "optim", "adamw_bnb_8bit"},
    {"--loss liger", "enable_liger_kernel", "true"},
    {"--attention sdpa", "flash_attn", "sdpa"},
    {"--precision bf16-pure", "pure_bf16", "true"},
    {"--method lora", "finetuning_type", "lora"},
    {"--method qlora", "quantization_bit", "4"},
};

int Score(const config::Node& root) {
  const int own = CountKeys(root, {"finetuning_type", "cutoff_len", "template", "stage",
                                   "lora_target", "dataset_dir", "flash_attn", "quantization_bit",
                                   "val_size", "preprocessing_num_workers", "overwrite_cache"});
  // `template` and `stage` alone are words of others too.
  return own < 2 ? 0 : 2 * own + Transformers().score(root);
}

void ReadQuantization(Draft& draft) {
  const Said* bits = draft.Find(Term::kQuantBits);
  if (bits == nullptr) return;
  if (bits->word != "4") {
    draft.Refuse(bits->span, bits->key, "training over weights in " + bits->word + " bit");
  }
  draft.Mean(Term::kLoad4bit, SaidFlag(true, kTool, ""));
  draft.Default(Term::kDoubleQuant,
                SaidFlag(true, kTool, "llamafactory/hparams/model_args.py: double_quantization"));
  draft.Default(Term::kKbitPreparation,
                SaidFlag(false, kTool,
                         "llamafactory/model/model_utils/checkpointing.py does not "
                         "call prepare_model_for_kbit_training"));
}

void ReadAttention(Draft& draft) {
  const std::string_view word = draft.Word(Term::kAttention);
  if (word == "auto") {
    draft.Forget(Term::kAttention);
  } else if (word == "disabled") {
    draft.Mean(Term::kAttention, SaidWord("eager", kTool, ""));
  } else if (word == "fa2" || word == "fa3") {
    draft.Mean(Term::kAttention, SaidWord(word == "fa2" ? "flash2" : "flash3", kTool, ""));
  }
}

void ReadAdapters(Draft& draft) {
  draft.Default(
      Term::kAdapter,
      SaidWord("lora", kTool, "llamafactory/hparams/finetuning_args.py: finetuning_type"));
  const Said* adapter = draft.Find(Term::kAdapter);
  const bool is_pure = draft.Flag(Term::kPureBf16);
  if (adapter->word == "full") {
    draft.Mean(Term::kAdapter, SaidWord("none", kTool, ""));
    if (is_pure) return;
    draft.Default(Term::kLoadDtype, SaidWord("float32", kTool,
                                             "llamafactory/model/adapter.py init_adapter: "
                                             "trained parameters are cast to fp32"));
    return;
  }
  if (adapter->word != "lora") {
    draft.Refuse(adapter->span, adapter->key, "finetuning_type " + adapter->word);
    return;
  }
  draft.Default(Term::kLoraRank,
                SaidCount(8, kTool, "llamafactory/hparams/finetuning_args.py: lora_rank"));
  Said all;
  all.names = {"all-linear"};
  all.tool = kTool;
  all.source = "llamafactory/hparams/finetuning_args.py: lora_target=all";
  draft.Default(Term::kLoraTargets, all);
  const Said* targets = draft.Find(Term::kLoraTargets);
  if (targets->names.size() == 1 && targets->names[0] == "all") draft.Mean(Term::kLoraTargets, all);
  draft.Default(Term::kLoadDtype,
                SaidWord("auto", kTool, "llamafactory/model/loader.py: torch_dtype=\"auto\""));
  if (!is_pure) {
    draft.Default(Term::kAdapterDtype,
                  SaidWord("float32", kTool,
                           "llamafactory/model/adapter.py init_adapter: trained "
                           "parameters are cast to fp32"));
  }
}

void Finish(Draft& draft) {
  FillTrainingArguments(draft, kTool);
  draft.Default(Term::kTask, SaidWord("sft", kTool, "llamafactory/hparams/finetuning_args.py"));
  draft.Default(Term::kLength,
                SaidCount(2048, kTool, "llamafactory/hparams/data_args.py: cutoff_len"));
  // disable_gradient_checkpointing says the contrary; the Trainer's own switch is beside it.
  if (const Said* said = draft.Find(Term::kCheckpointing);
      said != nullptr && said->key == "disable_gradient_checkpointing") {
    draft.Mean(Term::kCheckpointing, SaidFlag(!said->flag, kTool, ""));
  } else {
    draft.Forget(Term::kCheckpointing);
  }
  draft.Default(Term::kCheckpointing,
                SaidFlag(true, kTool,
                         "llamafactory/model/model_utils/checkpointing.py: unless "
                         "disable_gradient_checkpointing"));
  ReadQuantization(draft);
  ReadAttention(draft);
  ReadAdapters(draft);
}

}  // namespace

const Dialect& LlamaFactory() {
  static const Dialect kDialect = {.name = "llamafactory",
                                   .title = "LLaMA-Factory 0.9.5",
                                   .framework = "transformers",
                                   .rows = kRows,
                                   .more_rows = TrainingArgumentRows(),
                                   .known = {"llamafactory", "transformers"},
                                   .score = Score,
                                   .finish = Finish,
                                   .fixes = kFixes};
  return kDialect;
}

}  // namespace trainfit::readers
