#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/fp8.h"
#include "plan/fsdp.h"
#include "plan/plan.h"
#include "plan/update.h"
#include "plan/zero.h"

namespace trainfit::plan {
namespace {

using spec::Dtype;
using spec::Method;
using spec::Precision;
using spec::Sharding;

constexpr std::int64_t kMaxMicroBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMaxAccumulation = std::int64_t{1} << 20;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
// One exbibyte for one step's activations: far more than any machine, far less than int64 holds.
constexpr double kMaxStepBytes = 1152921504606846976.0;

// Defaults that no framework sets: a question needs some batch, length and rank to be answered.
constexpr std::int64_t kDefaultMicroBatch = 1;
constexpr std::int64_t kDefaultSequence = 2048;
constexpr std::int64_t kDefaultLoraRank = 16;

class Resolver {
 public:
  Resolver(const spec::Recipe& recipe, std::shared_ptr<const spec::ModelSpec> model,
           const spec::Machine& machine, const FactTable& facts)
      : recipe_(recipe), machine_(machine) {
    plan_.model = std::move(model);
    plan_.facts = facts;
  }

  Expected<Plan> Run() {
    CheckModel();
    CheckCheckpoint();
    CheckStack();
    Sizes();
    MethodAndPrecision();
    Training();
    Spread();
    ResolveFsdp(recipe_, plan_, errors_);
    ResolveUpdate(recipe_, plan_, errors_);
    CheckCombination();
    CheckMagnitude();
    if (!errors_.empty()) return Fail(std::move(errors_));
    return std::move(plan_);
  }

 private:
  void Assume(std::string what, std::string value, Basis basis, std::string source) {
    plan_.assumptions.push_back({std::move(what), std::move(value), basis, std::move(source)});
  }

  // The user's value, or that of the fact row, which is then an assumption.
  template <typename T>
  T Choose(const std::optional<T>& given, Fact fact) {
    if (given.has_value()) return *given;
    const FactRow& row = plan_.facts.Row(fact);
    const auto value = static_cast<T>(row.value);
    Assume(row.what, Word(value), row.basis, row.source);
    return value;
  }
  template <typename T>
  static std::string Word(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return value ? "on" : "off";
    else
      return std::string(Name(value));
  }

  std::int64_t Size(const std::optional<std::int64_t>& given, std::int64_t fallback,
                    std::int64_t max, const char* what) {
    const std::int64_t value = given.value_or(fallback);
    if (!given.has_value()) {
      Assume(what, std::to_string(value), Basis::kAssumed, "nothing was said");
    }
    if (value >= 1 && value <= max) return value;
    errors_.push_back(
        Error("size-out-of-range",
              fmt::format("{} is {}; it must be between 1 and {}", what, value, max)));
    return 1;
  }

  void CheckStack() {
    const std::string& vendor = machine_.gpu.vendor;
    if (vendor.empty() || vendor == "NVIDIA" || vendor == "AMD") return;
    errors_.push_back(
        Error("not-simulated", fmt::format("{} is from {}: only CUDA and ROCm cards are simulated",
                                           machine_.gpu.name, vendor)));
  }

  // Kernels that a card or a type does not have. flash-attention 2: Ampere and later; 3: Hopper
  // (README of Dao-AILab/flash-attention); both take 16-bit types alone.
  void CheckAttentionKernel() {
    const bool is_flash2 = plan_.attention == spec::AttentionImplementation::kFlash2;
    const bool is_flash3 = plan_.attention == spec::AttentionImplementation::kFlash3;
    if (!is_flash2 && !is_flash3) return;
    if (plan_.compute_dtype == Dtype::kFp32) {
      errors_.push_back(Error("contradiction",
                              fmt::format("attention {} needs fp16 or bf16, but precision is fp32",
                                          Name(plan_.attention)),
                              "--attention sdpa"));
    }
    if (machine_.gpu.vendor != "NVIDIA") return;
    const Version capability = ParseVersion(machine_.gpu.compute_capability);
    const bool runs = is_flash2 ? capability.major >= 8 : capability.major == 9;
    if (runs || capability == Version{}) return;
    errors_.push_back(Error(
        "no-kernel",
        fmt::format("attention {} does not run on {} (compute capability {})",
                    Name(plan_.attention), machine_.gpu.name, machine_.gpu.compute_capability),
        "--attention sdpa"));
  }

  // Weights that are stored quantized are loaded so; only unquantized ones have a lowering.
  void CheckCheckpoint() {
    if (plan_.model->checkpoint_quantization.empty()) return;
    errors_.push_back(Error("not-simulated",
                            fmt::format("{} is stored as {}: training over such weights cannot be "
                                        "simulated yet",
                                        plan_.model->id, plan_.model->checkpoint_quantization)));
  }

  void CheckModel() {
    if (plan_.model->not_simulated.empty()) return;
    errors_.push_back(
        Error("not-simulated", fmt::format("{} cannot be simulated yet: {}", plan_.model->id,
                                           plan_.model->not_simulated)));
  }

  void Sizes() {
    plan_.micro_batch =
        Size(recipe_.micro_batch, kDefaultMicroBatch, kMaxMicroBatch, "micro-batch");
    const std::int64_t positions = plan_.model->max_positions;
    plan_.sequence_length =
        Size(recipe_.sequence_length,
             positions > 0 ? std::min(kDefaultSequence, positions) : kDefaultSequence, kMaxSequence,
             "sequence length");
    plan_.gradient_accumulation = recipe_.gradient_accumulation.value_or(1);
    if (plan_.gradient_accumulation < 1 || plan_.gradient_accumulation > kMaxAccumulation) {
      errors_.push_back(
          Error("size-out-of-range",
                fmt::format("gradient accumulation is {}; it must be between 1 and {}",
                            plan_.gradient_accumulation, kMaxAccumulation)));
    }
    if (errors_.empty() && plan_.TokensPerMicroBatch() > kMaxTokens) {
      errors_.push_back(Error("size-out-of-range",
                              fmt::format("micro-batch {} × length {} is {} tokens on one GPU; at "
                                          "most {} make sense",
                                          plan_.micro_batch, plan_.sequence_length,
                                          plan_.TokensPerMicroBatch(), kMaxTokens)));
    }
    CheckPositions();
  }

  void CheckPositions() {
    const std::int64_t positions = plan_.model->max_positions;
    if (positions <= 0 || plan_.sequence_length <= positions) return;
    const std::string message = fmt::format("length {} is beyond the {} positions of {}",
                                            plan_.sequence_length, positions, plan_.model->id);
    if (plan_.model->Text().positions == spec::Positions::kLearned) {
      errors_.push_back(Error("too-long", message + "; its position table ends there",
                              fmt::format("--seq-len {}", positions)));
      return;
    }
    Diagnostic warning =
        Error("too-long", message + "; memory is right, the model was not trained there");
    warning.severity = Severity::kWarning;
    plan_.warnings.push_back(std::move(warning));
  }

  void MethodAndPrecision() {
    const bool has_lora = recipe_.lora.has_value();
    plan_.method = recipe_.method.value_or(has_lora ? Method::kLora : Method::kFull);
    if (!recipe_.method.has_value()) {
      Assume("method", has_lora ? "LoRA" : "full fine-tuning", Basis::kAssumed,
             has_lora ? "LoRA's options were given" : "nothing was said");
    }
    if (recipe_.precision.has_value()) {
      plan_.precision = *recipe_.precision;
    } else if (machine_.gpu.supports_bf16) {
      plan_.precision = Precision::kBf16Mixed;
      const bool has_masters = plan_.facts.Is(Fact::kMasterWeights);
      Assume(
          "precision", has_masters ? "bf16 (fp32 master weights)" : "bf16 (mixed, autocast)",
          has_masters ? Basis::kAssumed : Basis::kSource,
          has_masters ? "nothing was said" : "trl/trainer/base_config.py: bf16 defaults to True");
    } else {
      plan_.precision = Precision::kFp16Mixed;
      Assume("precision", "fp16 (mixed, autocast)", Basis::kDerived,
             machine_.gpu.name + " has no bf16");
    }
    ComputeTypes();
    WeightTypes();
    if (plan_.method != Method::kFull) Adapters();
  }

  void ComputeTypes() {
    switch (plan_.precision) {
      case Precision::kFp32:
        plan_.compute_dtype = Dtype::kFp32;
        break;
      case Precision::kBf16Mixed:
      case Precision::kBf16Pure:
        plan_.compute_dtype = Dtype::kBf16;
        break;
      case Precision::kFp16Mixed:
      case Precision::kFp16Pure:
        plan_.compute_dtype = Dtype::kFp16;
        break;
    }
    const bool is_mixed =
        plan_.precision == Precision::kBf16Mixed || plan_.precision == Precision::kFp16Mixed;
    plan_.autocast = is_mixed && plan_.facts.Is(Fact::kAutocast);
    if (plan_.compute_dtype == Dtype::kBf16 && !machine_.gpu.supports_bf16) {
      errors_.push_back(Error(
          "no-bf16",
          fmt::format("{} has no bf16: precision {} cannot run on it", machine_.gpu.name,
                      Name(plan_.precision)),
          plan_.precision == Precision::kBf16Mixed ? "--precision fp16" : "--precision fp16-pure"));
    }
  }

  void WeightTypes() {
    const bool is_pure =
        plan_.precision == Precision::kBf16Pure || plan_.precision == Precision::kFp16Pure;
    if (plan_.method == Method::kFull) {
      if (recipe_.load_dtype.has_value()) {
        plan_.weight_dtype = *recipe_.load_dtype;
      } else {
        plan_.master_weights =
            !is_pure && plan_.compute_dtype != Dtype::kFp32 && plan_.facts.Is(Fact::kMasterWeights);
        plan_.weight_dtype = is_pure || plan_.master_weights ? plan_.compute_dtype : Dtype::kFp32;
      }
      return;
    }
    if (recipe_.load_dtype.has_value()) {
      plan_.weight_dtype = *recipe_.load_dtype;
      return;
    }
    plan_.weight_dtype = plan_.compute_dtype;
    Assume("frozen weights", std::string(Name(plan_.weight_dtype)), Basis::kAssumed,
           "as most recipes load them; trl's own default is fp32 (trl/trainer/utils.py, "
           "create_model_from_path)");
  }

  void Adapters() {
    plan_.lora = recipe_.lora.value_or(spec::LoraRecipe{});
    if (!recipe_.lora.has_value()) {
      plan_.lora.rank = kDefaultLoraRank;
      Assume("adapters", fmt::format("LoRA r={} on all linear layers", kDefaultLoraRank),
             Basis::kAssumed, "nothing was said");
    }
    CheckAdapterKind();
    const bool has_free_rank = plan_.lora.kind == spec::AdapterKind::kFourierft;
    if (!has_free_rank && (plan_.lora.rank < 1 || plan_.lora.rank > plan_.model->Text().hidden)) {
      errors_.push_back(
          Error("size-out-of-range",
                fmt::format("LoRA rank is {}; it must be between 1 and the hidden size {}",
                            plan_.lora.rank, plan_.model->Text().hidden)));
      return;
    }
    CheckSavedModules();
    const bool is_qlora = plan_.method == Method::kQlora;
    plan_.double_quantization = recipe_.double_quantization.value_or(true);
    plan_.quantization = recipe_.quantization.value_or(spec::Quantization::kNf4);
    // peft/utils/other.py prepare_model_for_kbit_training leaves GPTQ's tensors as they are.
    const bool is_gptq = plan_.quantization == spec::Quantization::kGptq4 ||
                         plan_.quantization == spec::Quantization::kGptq8;
    plan_.kbit_preparation =
        is_qlora && !is_gptq &&
        recipe_.kbit_preparation.value_or(plan_.facts.Is(Fact::kKbitPreparation));
    if (recipe_.adapter_dtype.has_value()) {
      plan_.adapter_dtype = *recipe_.adapter_dtype;
    } else {
      const bool is_fp32 = is_qlora ? !plan_.facts.Is(Fact::kQloraAdapterBf16)
                                    : plan_.facts.Is(Fact::kAdapterDtypeFp32);
      plan_.adapter_dtype = is_fp32 ? Dtype::kFp32 : plan_.compute_dtype;
    }
    const std::vector<std::string> unknown = UnknownLoraTargets(plan_);
    if (unknown.empty()) return;
    Diagnostic diagnostic =
        Error("no-lora-target",
              fmt::format("no linear layer of {} is called {}", plan_.model->id, Join(unknown)),
              "--lora-targets all-linear");
    if (unknown.size() == plan_.lora.targets.size()) {
      errors_.push_back(std::move(diagnostic));
    } else {  // PEFT passes over names that match nothing as long as one matches
      diagnostic.severity = Severity::kWarning;
      plan_.warnings.push_back(std::move(diagnostic));
    }
  }

  // Adapters other than LoRA: on a plain base, on one GPU or replicated.
  void CheckAdapterKind() {
    if (plan_.lora.kind == spec::AdapterKind::kLora) return;
    const spec::Sharding sharding = recipe_.sharding.value_or(
        machine_.Gpus() > 1 ? spec::Sharding::kFsdp2 : spec::Sharding::kNone);
    const bool is_plain = plan_.method == Method::kLora &&
                          (sharding == spec::Sharding::kNone || sharding == spec::Sharding::kDdp);
    if (is_plain) return;
    errors_.push_back(
        Error("not-simulated", fmt::format("adapter {} over quantized or sharded weights cannot be "
                                           "simulated yet",
                                           Name(plan_.lora.kind))));
  }

  // Copies of whole modules are trained beside the adapters; sharded, they have no lowering yet.
  void CheckSavedModules() {
    if (plan_.lora.modules_to_save.empty()) return;
    const spec::Sharding sharding = recipe_.sharding.value_or(
        machine_.Gpus() > 1 ? spec::Sharding::kFsdp2 : spec::Sharding::kNone);
    if (sharding == spec::Sharding::kNone || sharding == spec::Sharding::kDdp) return;
    errors_.push_back(Error(
        "not-simulated",
        fmt::format("modules_to_save with sharding {} cannot be simulated yet", Name(sharding)),
        "--sharding ddp"));
  }

  static std::string Join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }

  void Training() {
    if (recipe_.optimizer.has_value()) {
      plan_.optimizer = *recipe_.optimizer;
    } else {
      Assume("optimizer", "AdamW", Basis::kSource, "transformers/training_args.py: optim");
    }
    plan_.optimizer_loop = Choose(recipe_.optimizer_loop, Fact::kOptimizerLoopDefault);
    plan_.recompute = recipe_.recompute;
    plan_.recompute_layers = recipe_.recompute_layers;
    const double dropout = plan_.model->Text().dropout;
    plan_.hidden_dropout = recipe_.hidden_dropout.value_or(dropout);
    plan_.attention_dropout = recipe_.attention_dropout.value_or(dropout);
    plan_.gradient_dtype = recipe_.gradient_dtype.value_or(Dtype::kFp32);
    plan_.fused_accumulation = recipe_.fused_accumulation.value_or(true);
    plan_.overlap_reduce = recipe_.overlap_reduce.value_or(false);
    plan_.overlap_gather = recipe_.overlap_gather.value_or(false);
    plan_.first_flash = recipe_.first_flash;
    plan_.expert_imbalance = recipe_.expert_imbalance.value_or(1.0);
    ResolveFp8(recipe_.fp8, machine_.gpu, plan_, errors_);
    plan_.checkpointing = Choose(recipe_.checkpointing, Fact::kCheckpointingDefault);
    plan_.attention = Choose(recipe_.attention, Fact::kAttentionDefault);
    RuleOutSdpa();
    CheckAttentionKernel();
    plan_.loss = Choose(recipe_.loss, Fact::kLossKernelDefault);
    CheckKernelsOfStack();
    plan_.loss_pieces = LossPieces();
    plan_.liger_kernels = recipe_.liger_kernels.value_or(false);
    plan_.fused_activation = recipe_.fused_activation.value_or(plan_.liger_kernels);
    plan_.padding_free = recipe_.padding_free.value_or(!plan_.facts.Is(Fact::kPaddingMask));
  }

  // Kernels that come with frameworks that split models, and those that they do not have.
  void CheckKernelsOfStack() {
    const bool splits = plan_.facts.Is(Fact::kModelParallel);
    const auto refuse = [&](std::string_view what, std::string_view word, std::string hint) {
      errors_.push_back(
          Error("contradiction",
                fmt::format("{} {} is not there in {}", what, word, plan_.facts.stack().framework),
                std::move(hint)));
    };
    const bool is_cudnn = plan_.attention == spec::AttentionImplementation::kCudnn;
    const bool is_sdpa = plan_.attention == spec::AttentionImplementation::kSdpa;
    if (splits ? is_sdpa : is_cudnn) {
      refuse("attention", Name(plan_.attention), "--attention flash2");
    }
    const bool is_shared = plan_.loss == spec::LossKernel::kPlain ||
                           plan_.loss == spec::LossKernel::kTritonCrossEntropy;
    const bool is_megatron = plan_.loss == spec::LossKernel::kCompiled;
    if (!is_shared && splits != is_megatron) {
      refuse("loss", Name(plan_.loss), "--loss plain");
    }
    if (!splits && plan_.checkpointing == spec::Checkpointing::kSelective) {
      errors_.push_back(
          Error("not-simulated", "selective activation checkpointing cannot be simulated yet"));
    }
    for (const spec::Recompute module : plan_.recompute) {
      const bool is_simulated = module == spec::Recompute::kCoreAttention ||
                                module == spec::Recompute::kLayerNorm ||
                                module == spec::Recompute::kMoeActivation;
      if (is_simulated) continue;
      errors_.push_back(Error(
          "not-simulated", fmt::format("recomputation of {} cannot be simulated yet", Name(module)),
          "--recompute core-attn"));
    }
    if (splits && plan_.method != Method::kFull) {
      errors_.push_back(Error("not-simulated",
                              fmt::format("{} with {} cannot be simulated yet",
                                          plan_.facts.stack().framework, Name(plan_.method)),
                              "--method full"));
    }
    if (splits && plan_.optimizer != spec::Optimizer::kAdamW) {
      errors_.push_back(Error("not-simulated",
                              fmt::format("{} with {} cannot be simulated yet",
                                          plan_.facts.stack().framework, Name(plan_.optimizer)),
                              "--optimizer adamw"));
    }
  }

  std::int64_t LossPieces() const {
    const std::int64_t tokens = plan_.facts.Value(Fact::kLossChunkTokens);
    const std::int64_t usual =
        tokens > 0 ? CeilDiv(plan_.sequence_length, tokens) : plan_.facts.Value(Fact::kLossChunks);
    return std::clamp<std::int64_t>(recipe_.loss_pieces.value_or(usual), 0, plan_.sequence_length);
  }

  // Soft-capped scores: the model class has no SDPA, and transformers falls back to eager.
  void RuleOutSdpa() {
    if (plan_.attention != spec::AttentionImplementation::kSdpa) return;
    const auto& kinds = plan_.model->Text().kinds;
    const bool is_capped = std::any_of(kinds.begin(), kinds.end(), [](const spec::LayerKind& kind) {
      return kind.attention.logit_softcap;
    });
    if (!is_capped) return;
    plan_.attention = spec::AttentionImplementation::kEager;
    Assume("attention", "eager, as scores are soft-capped", Basis::kSource,
           "transformers/models/gemma2/modeling_gemma2.py: _supports_sdpa = False");
  }

  void Spread() {
    ResolveParallel(recipe_, machine_, plan_, errors_);
    const std::int64_t replicas = plan_.parallel.data;
    plan_.ranks_per_node = machine_.gpus_per_node;
    if (recipe_.sharding.has_value()) {
      plan_.parallel.sharding = *recipe_.sharding;
      CheckSharding(*recipe_.sharding, replicas);
    } else if (replicas > 1) {
      plan_.parallel.sharding = Choose<Sharding>(std::nullopt, Fact::kShardingDefault);
    }
    const bool is_split = plan_.parallel.tensor > 1 && plan_.facts.Is(Fact::kTensorParallel);
    if (is_split && replicas > 1 && plan_.parallel.sharding != Sharding::kFsdp2) {
      errors_.push_back(Error("not-simulated",
                              fmt::format("tensor parallelism with sharding {} cannot be simulated",
                                          Name(plan_.parallel.sharding)),
                              "--sharding fsdp2"));
    }
    if (IsZero(plan_.parallel.sharding) && !plan_.facts.Is(Fact::kModelParallel)) {
      ResolveZero(recipe_, plan_, errors_);
    } else if (ZeroSettings() != spec::ZeroRecipe{}) {
      errors_.push_back(Error("contradiction",
                              fmt::format("settings of ZeRO were given, but sharding is {}",
                                          Name(plan_.parallel.sharding)),
                              "--sharding zero3"));
    }
  }

  // Those that nothing but ZeRO has.
  spec::ZeroRecipe ZeroSettings() const {
    spec::ZeroRecipe settings = recipe_.zero;
    if (!IsFsdp(plan_.parallel.sharding)) return settings;
    settings.offload_param.reset();
    settings.offload_optimizer.reset();
    return settings;
  }

  void CheckSharding(Sharding sharding, std::int64_t replicas) {
    if (sharding == Sharding::kNone && replicas > 1) {
      errors_.push_back(
          Error("contradiction",
                fmt::format("{} GPUs were given, but sharding none uses one", machine_.Gpus()),
                "--sharding ddp keeps a full copy on each; fsdp2 spreads one"));
    }
    const std::int64_t simulated = plan_.facts.Value(Fact::kShardingsSimulated);
    if ((simulated >> static_cast<int>(sharding) & 1) != 0) return;
    errors_.push_back(
        Error("not-simulated",
              fmt::format("sharding {} of {} cannot be simulated yet", Name(sharding),
                          plan_.facts.stack().framework),
              fmt::format("--sharding {}",
                          Name(static_cast<Sharding>(plan_.facts.Value(Fact::kShardingDefault))))));
  }

  void CheckCombination() {
    // Fused, foreach and for-loop are ways of torch.optim; the others come with one way each.
    const bool has_loops = plan_.optimizer == spec::Optimizer::kAdamW;
    if (!has_loops && recipe_.optimizer_loop.has_value()) {
      errors_.push_back(Error(
          "contradiction", fmt::format("optimizer {} has its own kernels: --optimizer-loop {} does "
                                       "not apply to it",
                                       Name(plan_.optimizer), Name(*recipe_.optimizer_loop))));
    }
    if (plan_.method == Method::kFull && recipe_.lora.has_value()) {
      errors_.push_back(Error("contradiction",
                              "LoRA options were given, but the method is full fine-tuning",
                              "--method lora"));
    }
    if (plan_.method != Method::kQlora && recipe_.double_quantization.has_value()) {
      errors_.push_back(
          Error("contradiction",
                fmt::format("double quantization is for 4-bit weights, but the method "
                            "is {}",
                            Name(plan_.method)),
                "--method qlora"));
    }
    CheckExperts();
    const bool is_half = plan_.weight_dtype != Dtype::kFp32;
    const bool is_scaled_by_torch = !IsZero(plan_.parallel.sharding) && !plan_.master_weights;
    if (plan_.method == Method::kFull && plan_.precision == Precision::kFp16Mixed && is_half &&
        is_scaled_by_torch) {
      errors_.push_back(Error("contradiction",
                              "fp16 mixed precision scales the loss and needs fp32 weights; "
                              "weights in fp16 cannot be unscaled (torch GradScaler refuses)",
                              "--precision fp16-pure"));
    }
  }

  // Adapters on experts that are modules of their own have no lowering yet.
  void CheckExperts() {
    if (plan_.method == Method::kFull) return;
    for (const spec::LayerKind& kind : plan_.model->Text().kinds) {
      if (kind.mlp.kind != spec::MlpKind::kMoe) continue;
      if (plan_.facts.Is(Fact::kExpertsFused)) {
        WarnOfPlainExperts();
        return;
      }
      const bool is_adapted = std::any_of(
          kind.tensors.begin(), kind.tensors.end(), [&](const spec::TensorSpec& tensor) {
            return tensor.copies > 1 && HoldParameter(plan_, tensor).lora_rank > 0;
          });
      if (!is_adapted) continue;
      errors_.push_back(Error(
          "not-simulated", fmt::format("{} cannot be simulated with {}: adapters on experts that "
                                       "are modules of their own",
                                       plan_.model->id, plan_.facts.stack().Text())));
      return;
    }
  }

  void WarnOfPlainExperts() {
    Diagnostic warning =
        Error("plain-experts",
              plan_.method == Method::kQlora
                  ? "the experts stay in 16 bit and get no adapters: in transformers 5 they "
                    "are parameters, not linear layers, which 4-bit loading passes by"
                  : "the experts get no adapters: in transformers 5 they are parameters, "
                    "not linear layers (PEFT has target_parameters for them)");
    warning.severity = Severity::kWarning;
    plan_.warnings.push_back(std::move(warning));
  }

  // A bound in floating point, so that the integer arithmetic after it cannot overflow.
  void CheckMagnitude() {
    if (!errors_.empty()) return;
    const spec::Stack& text = plan_.model->Text();
    const auto tokens = static_cast<double>(plan_.TokensPerMicroBatch());
    double widest = static_cast<double>(std::max(plan_.model->vocab, text.hidden));
    double heads = 1;
    for (const spec::LayerKind& kind : text.kinds) {
      widest = std::max(widest, static_cast<double>(kind.mlp.intermediate));
      heads = std::max(heads, static_cast<double>(kind.attention.heads));
    }
    const double layers = static_cast<double>(text.Layers()) + 2;
    constexpr double kTensorsPerLayer = 100;
    double bytes = tokens * widest * layers * kTensorsPerLayer * 4;
    if (plan_.attention == spec::AttentionImplementation::kEager) {
      bytes += tokens * static_cast<double>(plan_.sequence_length) * heads * layers * 40;
    }
    if (bytes < kMaxStepBytes) return;
    errors_.push_back(Error(
        "too-large",
        fmt::format("micro-batch {} × length {} would need about {:.0e} bytes of activations: no "
                    "machine has that",
                    plan_.micro_batch, plan_.sequence_length, bytes)));
  }

  const spec::Recipe& recipe_;
  const spec::Machine& machine_;
  Plan plan_;
  Diagnostics errors_;
};

}  // namespace

Expected<Plan> ResolvePlan(const spec::Recipe& recipe, std::shared_ptr<const spec::ModelSpec> model,
                           const spec::Machine& machine, const FactTable& facts) {
  return Resolver(recipe, std::move(model), machine, facts).Run();
}

}  // namespace trainfit::plan
