#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "readers/configs/reading.h"

namespace trainfit::readers {
namespace {

using spec::Optimizer;
using spec::OptimizerLoop;
using spec::Precision;
using spec::Sharding;

struct OptimizerWord {
  std::string_view word;
  Optimizer optimizer;
  std::optional<OptimizerLoop> loop;
};

// transformers/training_args.py OptimizerNames; DeepSpeed's `optimizer.type`; torch's own names.
constexpr std::array kOptimizers = std::to_array<OptimizerWord>({
    {"adamw_torch", Optimizer::kAdamW, OptimizerLoop::kForeach},
    {"adamw_torch_fused", Optimizer::kAdamW, OptimizerLoop::kFused},
    {"adamw_hf", Optimizer::kAdamW, OptimizerLoop::kForLoop},
    {"adamw_apex_fused", Optimizer::kAdamW, OptimizerLoop::kFused},
    {"adamw", Optimizer::kAdamW, {}},
    {"adam", Optimizer::kAdamW, {}},
    {"adamw_bnb_8bit", Optimizer::kAdamW8bit, {}},
    {"adamw_8bit", Optimizer::kAdamW8bit, {}},
    {"paged_adamw_32bit", Optimizer::kPagedAdamW, {}},
    {"paged_adamw", Optimizer::kPagedAdamW, {}},
    {"paged_adamw_8bit", Optimizer::kPagedAdamW8bit, {}},
    {"adafactor", Optimizer::kAdafactor, {}},
    {"lion_32bit", Optimizer::kLion, {}},
    {"lion", Optimizer::kLion, {}},
    {"sgd", Optimizer::kSgd, {}},
});

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

class Conclusion {
 public:
  Conclusion(Draft& draft, const Dialect* trainer, ConfigReading& reading)
      : draft_(draft), trainer_(trainer), reading_(reading), recipe_(reading.recipe) {}

  void Run() {
    CheckAutos();
    reading_.model = draft_.Word(Term::kModel);
    if (trainer_ != nullptr) recipe_.framework = trainer_->framework;
    Task();
    Batch();
    Numbers();
    Method();
    Kernels();
    Spread();
  }

 private:
  void Refuse(Term term, std::string_view what) {
    const Said* said = draft_.Find(term);
    draft_.Refuse(said->span, said->key.empty() ? std::string(Name(term)) : said->key, what);
  }

  // "auto" without a file that says what is meant.
  void CheckAutos() {
    for (const Draft::Left& left : draft_.left()) {
      if (draft_.Has(left.term)) continue;
      // transformers/integrations/deepspeed.py sets these from its arguments, which then have
      // defaults of their own; without a trainer nobody does.
      if (trainer_ != nullptr && left.term != Term::kZeroStage) continue;
      draft_.Complain(ErrorAt(left.span, "open-auto",
                              fmt::format("{} leaves {} to another file, which was not given",
                                          left.key, Name(left.term)),
                              left.term == Term::kZeroStage
                                  ? "the DeepSpeed JSON as a further FILE"
                                  : "the trainer's arguments as a further FILE"));
    }
  }

  void Task() {
    const std::string task = Lower(draft_.Word(Term::kTask));
    if (task.empty() || task == "sft" || task == "pt") return;
    Refuse(Term::kTask, task == "dpo" || task == "kto" || task == "orpo"
                            ? "preference training (" + task + ")"
                            : task);
  }

  void Batch() {
    recipe_.micro_batch = draft_.Count(Term::kMicroBatch);
    recipe_.gradient_accumulation = draft_.Count(Term::kAccumulation);
    reading_.global_batch = draft_.Count(Term::kGlobalBatch);
    recipe_.sequence_length = draft_.Count(Term::kLength);
    // One long row without a mask: what packing by best fit does, and collators that flatten.
    if (draft_.Flag(Term::kPaddingFree)) recipe_.padding_free = true;
  }

  bool IsBf16() const {
    return draft_.Flag(Term::kBf16) ||
           (!draft_.Flag(Term::kFp16) && draft_.Word(Term::kMixedPrecision) == "bf16");
  }
  bool IsFp16() const {
    return draft_.Flag(Term::kFp16) ||
           (!draft_.Flag(Term::kBf16) && draft_.Word(Term::kMixedPrecision) == "fp16");
  }

  std::optional<spec::Dtype> ReadDtype(Term term) {
    const Said* said = draft_.Find(term);
    if (said == nullptr || said->word == "auto") return std::nullopt;
    const std::optional<spec::Dtype> dtype = spec::ParseDtype(said->word);
    if (!dtype) {
      draft_.Complain(ErrorAt(said->span, "unknown-type",
                              fmt::format("{}: there is no type {}", said->key, said->word),
                              "bfloat16, float16, float32 or auto"));
    }
    return dtype;
  }

  void Numbers() {
    if (draft_.Word(Term::kMixedPrecision) == "fp8") Refuse(Term::kMixedPrecision, "fp8");
    recipe_.load_dtype = ReadDtype(Term::kLoadDtype);
    reading_.load_as_stored = draft_.Word(Term::kLoadDtype) == "auto";
    recipe_.adapter_dtype = ReadDtype(Term::kAdapterDtype);
    const bool is_stored_half = recipe_.load_dtype == spec::Dtype::kBf16;
    if (draft_.Flag(Term::kPureBf16)) {
      recipe_.precision = Precision::kBf16Pure;
      recipe_.load_dtype.reset();
      reading_.load_as_stored = false;
    } else if (draft_.Flag(Term::kPureFp16)) {
      recipe_.precision = Precision::kFp16Pure;
    } else if (IsBf16()) {
      recipe_.precision = Precision::kBf16Mixed;
    } else if (IsFp16()) {
      recipe_.precision = Precision::kFp16Mixed;
    } else if (trainer_ != nullptr) {
      // Neither autocast: the weights' own type is that of everything.
      recipe_.precision = is_stored_half                             ? Precision::kBf16Pure
                          : recipe_.load_dtype == spec::Dtype::kFp16 ? Precision::kFp16Pure
                                                                     : Precision::kFp32;
      if (reading_.load_as_stored) recipe_.precision.reset();  // RecipeFor decides
    }
    if (const Said* said = draft_.Find(Term::kOptimizer)) ReadOptimizer(*said);
  }

  void ReadOptimizer(const Said& said) {
    const std::string word = Lower(said.word);
    for (const OptimizerWord& row : kOptimizers) {
      if (row.word != word) continue;
      recipe_.optimizer = row.optimizer;
      recipe_.optimizer_loop = row.loop;
      return;
    }
    Refuse(Term::kOptimizer, "optimizer " + said.word);
  }

  void Method() {
    const bool is_4bit = draft_.Flag(Term::kLoad4bit);
    if (draft_.Flag(Term::kLoad8bit)) Refuse(Term::kLoad8bit, "training over 8-bit weights");
    const std::string adapter = Lower(draft_.Word(Term::kAdapter));
    const bool has_adapter = adapter == "lora" || adapter == "qlora" || adapter == "true";
    if (!has_adapter) {
      if (trainer_ != nullptr) recipe_.method = spec::Method::kFull;
      recipe_.method =
          spec::Method::kFull;  // every tool trains the whole model unless told to adapt
      if (is_4bit) {
        const Said* said = draft_.Find(Term::kLoad4bit);
        draft_.Complain(ErrorAt(said->span, "contradiction",
                                "4-bit weights cannot be trained; adapters over them can",
                                "LoRA as well"));
      }
      return;
    }
    recipe_.method = is_4bit || adapter == "qlora" ? spec::Method::kQlora : spec::Method::kLora;
    spec::LoraRecipe lora;
    if (const auto rank = draft_.Count(Term::kLoraRank)) lora.rank = *rank;
    if (const Said* dropout = draft_.Find(Term::kLoraDropout)) {
      lora.dropout = dropout->count == 0 ? dropout->fraction : 0;
    }
    if (const Said* targets = draft_.Find(Term::kLoraTargets)) {
      lora.targets = targets->names;
    } else {
      reading_.has_default_targets = true;
    }
    if (const Said* saved = draft_.Find(Term::kModulesToSave)) lora.modules_to_save = saved->names;
    recipe_.lora = std::move(lora);
    if (recipe_.method != spec::Method::kQlora) return;
    if (const Said* said = draft_.Find(Term::kDoubleQuant))
      recipe_.double_quantization = said->flag;
    if (const Said* said = draft_.Find(Term::kKbitPreparation)) {
      recipe_.kbit_preparation = said->flag;
    }
  }

  void Kernels() {
    if (const Said* said = draft_.Find(Term::kCheckpointing)) {
      recipe_.checkpointing = said->flag ? spec::Checkpointing::kFull : spec::Checkpointing::kNone;
    }
    if (const Said* said = draft_.Find(Term::kAttention)) ReadAttention(*said);
    if (draft_.Flag(Term::kLiger)) {
      recipe_.liger_kernels = true;
      // transformers/integrations/liger.py: fused_linear_cross_entropy unless it is switched off.
      recipe_.loss = spec::LossKernel::kFusedLinear;
    }
    const std::string_view loss = draft_.Word(Term::kLossKernel);
    for (const auto kernel : {spec::LossKernel::kPlain, spec::LossKernel::kFusedLinear,
                              spec::LossKernel::kTritonCrossEntropy, spec::LossKernel::kChunked}) {
      if (loss == Name(kernel)) recipe_.loss = kernel;
    }
  }

  void ReadAttention(const Said& said) {
    using spec::AttentionImplementation;
    const std::string word = Lower(said.word);
    if (word == "eager") {
      recipe_.attention = AttentionImplementation::kEager;
    } else if (word == "sdpa") {
      recipe_.attention = AttentionImplementation::kSdpa;
    } else if (word == "flash_attention_2" || word == "flash2" ||
               word == "kernels-community/flash-attn2" || word == "kernels-community/flash-attn") {
      recipe_.attention = AttentionImplementation::kFlash2;
    } else if (word == "flash_attention_3" || word == "flash3" ||
               word == "kernels-community/flash-attn3" ||
               word == "kernels-community/vllm-flash-attn3") {
      recipe_.attention = AttentionImplementation::kFlash3;
    } else {
      Refuse(Term::kAttention, "attention " + said.word);
    }
  }

  void RefuseParallel(Term term) {
    if (draft_.Count(term).value_or(1) > 1) Refuse(term, Name(term));
  }

  void Spread() {
    if (trainer_ != nullptr && trainer_->framework == "megatron") {
      Megatron();
    } else {
      RefuseParallel(Term::kTensorParallel);
      RefuseParallel(Term::kPipelineParallel);
      RefuseParallel(Term::kContextParallel);
      RefuseParallel(Term::kExpertParallel);
    }
    reading_.processes = draft_.Count(Term::kProcesses);
    const auto per_node = draft_.Count(Term::kProcessesPerNode);
    if (!reading_.processes && per_node) {
      reading_.processes = *per_node * draft_.Count(Term::kNodes).value_or(1);
    }
    if (draft_.Has(Term::kZeroStage)) {
      reading_.sharding_at = draft_.Find(Term::kZeroStage)->span;
      Zero();
    } else if (draft_.Flag(Term::kFsdp)) {
      reading_.sharding_at = draft_.Find(Term::kFsdp)->span;
      Fsdp();
    }
  }

  // The model is split by the framework itself, in Megatron's words.
  void Megatron() {
    spec::Parallelism split;
    split.tensor = draft_.Count(Term::kTensorParallel).value_or(1);
    split.pipeline = draft_.Count(Term::kPipelineParallel).value_or(1);
    split.virtual_stages = draft_.Count(Term::kVirtualStages).value_or(1);
    split.context = draft_.Count(Term::kContextParallel).value_or(1);
    split.expert = draft_.Count(Term::kExpertParallel).value_or(1);
    split.expert_tensor = draft_.Count(Term::kExpertTensorParallel);
    split.sequence_parallel = GivenFlag(Term::kSequenceParallel);
    recipe_.parallelism = split;
    recipe_.sharding = draft_.Flag(Term::kDistributedOptimizer) ? Sharding::kZero1 : Sharding::kDdp;
    recipe_.overlap_reduce = GivenFlag(Term::kOverlapReduce);
    recipe_.overlap_gather = GivenFlag(Term::kOverlapGather);
    MegatronFp8();
    if (draft_.Flag(Term::kGradientsInBf16)) recipe_.gradient_dtype = spec::Dtype::kBf16;
    if (const Said* said = draft_.Find(Term::kHiddenDropout)) {
      recipe_.hidden_dropout = said->fraction;
    }
    if (const Said* said = draft_.Find(Term::kAttentionDropout)) {
      recipe_.attention_dropout = said->fraction;
    }
    recipe_.load_dtype.reset();
    MegatronRecompute();
  }

  // megatron/training/arguments.py: without --fp8-format nothing is in 8 bits; --fp8-recipe is
  // delayed. The recipes: megatron/core/enums.py Fp8Recipe.
  void MegatronFp8() {
    if (draft_.Word(Term::kFp8Format).empty()) return;
    struct Word {
      std::string_view text;
      spec::Fp8Scaling scaling;
    };
    constexpr Word kWords[] = {{"delayed", spec::Fp8Scaling::kDelayed},
                               {"tensorwise", spec::Fp8Scaling::kCurrent},
                               {"blockwise", spec::Fp8Scaling::kBlock},
                               {"mxfp8", spec::Fp8Scaling::kMx}};
    spec::Fp8 fp8;
    const std::string recipe = Lower(draft_.Word(Term::kFp8Recipe));
    bool is_known = recipe.empty();
    for (const Word& word : kWords) {
      if (word.text != recipe) continue;
      fp8.scaling = word.scaling;
      is_known = true;
    }
    if (!is_known) return Refuse(Term::kFp8Recipe, "this recipe of fp8");
    fp8.parameters = draft_.Flag(Term::kFp8Parameters);
    recipe_.fp8 = fp8;
  }

  void MegatronRecompute() {
    const std::string word = Lower(draft_.Word(Term::kRecompute));
    if (word.empty()) {
      recipe_.checkpointing = spec::Checkpointing::kNone;
    } else if (word == "full") {
      recipe_.checkpointing = spec::Checkpointing::kFull;
      const std::int64_t layers = draft_.Count(Term::kRecomputeLayers).value_or(1);
      const std::string method = Lower(draft_.Word(Term::kRecomputeMethod));
      if (method == "block") {
        recipe_.recompute_layers = layers;
      } else if (layers > 1) {
        Refuse(Term::kRecomputeLayers, "recomputation of several layers as one piece");
      }
    } else if (word == "selective" || word == "true") {
      recipe_.checkpointing = spec::Checkpointing::kSelective;
      RecomputeModules();
    } else {
      Refuse(Term::kRecompute, "recomputation " + word);
    }
  }

  void RecomputeModules() {
    using spec::Recompute;
    constexpr std::array<std::pair<std::string_view, Recompute>, 7> kModules = {{
        {"core_attn", Recompute::kCoreAttention},
        {"layernorm", Recompute::kLayerNorm},
        {"mlp", Recompute::kMlp},
        {"moe", Recompute::kMoe},
        {"moe_act", Recompute::kMoeActivation},
        {"mla_up_proj", Recompute::kMlaUpProjection},
        {"shared_experts", Recompute::kSharedExperts},
    }};
    const Said* said = draft_.Find(Term::kRecomputeModules);
    if (said == nullptr) {
      recipe_.recompute = {Recompute::kCoreAttention};  // transformer_config.py: the default
      return;
    }
    for (const std::string& name : said->names) {
      const auto row = std::find_if(kModules.begin(), kModules.end(),
                                    [&](const auto& module) { return module.first == name; });
      if (row == kModules.end()) {
        Refuse(Term::kRecomputeModules, "recomputation of " + name);
      } else {
        recipe_.recompute.push_back(row->second);
      }
    }
  }

  void Zero() {
    const std::int64_t stage = *draft_.Count(Term::kZeroStage);
    switch (stage) {
      case 1:
        recipe_.sharding = Sharding::kZero1;
        break;
      case 2:
        recipe_.sharding = Sharding::kZero2;
        break;
      case 3:
        recipe_.sharding = Sharding::kZero3;
        break;
      default:
        Refuse(Term::kZeroStage, fmt::format("DeepSpeed with stage {}", stage));
    }
    spec::ZeroRecipe& zero = recipe_.zero;
    zero.reduce_bucket_size = draft_.Count(Term::kReduceBucket);
    zero.prefetch_bucket_size = draft_.Count(Term::kPrefetchBucket);
    zero.param_persistence_threshold = draft_.Count(Term::kPersistence);
    zero.max_reuse_distance = draft_.Count(Term::kReuseDistance);
    zero.sub_group_size = draft_.Count(Term::kSubGroup);
    zero.overlap_comm = GivenFlag(Term::kOverlapComm);
    zero.pin_memory = GivenFlag(Term::kPinMemory);
    zero.init_partitioned = GivenFlag(Term::kPartitionedLoad);
    zero.offload_optimizer = Offload(Term::kOffloadOptimizer);
    zero.offload_param = Offload(Term::kOffloadParameters);
  }

  std::optional<bool> GivenFlag(Term term) const {
    const Said* said = draft_.Find(term);
    return said == nullptr ? std::nullopt : std::optional(said->flag);
  }

  std::optional<spec::Offload> Offload(Term term) {
    if (!draft_.Has(term)) return std::nullopt;
    const std::string device = Lower(draft_.Word(term));
    for (const auto offload : {spec::Offload::kNone, spec::Offload::kCpu, spec::Offload::kNvme}) {
      if (device == Name(offload)) return offload;
    }
    Refuse(term, fmt::format("{} to {}", Name(term), device));
    return std::nullopt;
  }

  void Fsdp() {
    const std::int64_t version = draft_.Count(Term::kFsdpVersion).value_or(2);
    recipe_.sharding = version == 1 ? Sharding::kFsdp1 : Sharding::kFsdp2;
    const std::string_view strategy = draft_.Word(Term::kFsdpStrategy);
    if (strategy == "no_shard") {
      recipe_.sharding = Sharding::kDdp;
      recipe_.gradients_view_buckets = true;  // one flat gradient a unit, summed where it lies
    } else if (!strategy.empty() && strategy != "full_shard" && strategy != "true") {
      Refuse(Term::kFsdpStrategy, fmt::format("FSDP with {}", strategy));
    }
    if (!draft_.Flag(Term::kFsdpOffload)) return;
    if (strategy == "no_shard") {
      Refuse(Term::kFsdpOffload, "FSDP's offload to the host without shards");
    } else {
      recipe_.zero.offload_param = spec::Offload::kCpu;
    }
  }

  Draft& draft_;
  const Dialect* trainer_;
  ConfigReading& reading_;
  spec::Recipe& recipe_;
};

}  // namespace

void Conclude(Draft& draft, const Dialect* trainer, ConfigReading& reading) {
  Conclusion(draft, trainer, reading).Run();
}

}  // namespace trainfit::readers
