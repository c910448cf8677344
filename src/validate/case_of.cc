#include "validate/case_of.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "catalog/fabric.h"
#include "plan/fsdp.h"
#include "plan/zero.h"
#include "validate/frameworks_known.h"
#include "validate/interconnect.h"
#include "validate/megatron_run.h"
#include "validate/supported.h"

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;
using spec::Dtype;
using spec::Method;
using spec::Precision;
using spec::Recipe;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<bool> Switch(const Run& run, std::string_view key) {
  const Node* node = run.settings.Find(key);
  if (node == nullptr || node->kind != NodeKind::kBool) return std::nullopt;
  return node->boolean;
}

std::string Setting(const Run& run, std::string_view key) {
  const Node* node = run.settings.Find(key);
  return node == nullptr ? std::string() : node->text;
}

std::optional<spec::Quantization> QuantizationOf(const Run& run) {
  struct Word {
    std::string_view text;
    spec::Quantization quantization;
  };
  constexpr Word kWords[] = {
      {"nf4", spec::Quantization::kNf4},         {"fp4", spec::Quantization::kFp4},
      {"int8", spec::Quantization::kInt8},       {"gptq-int4", spec::Quantization::kGptq4},
      {"gptq-int8", spec::Quantization::kGptq8}, {"awq-int4", spec::Quantization::kAwq4}};
  for (const Word& word : kWords) {
    if (run.quantization.starts_with(word.text)) return word.quantization;
  }
  return std::nullopt;
}

std::optional<spec::AdapterKind> KindOf(const Run& run) {
  for (const auto kind :
       {spec::AdapterKind::kDora, spec::AdapterKind::kAdalora, spec::AdapterKind::kIa3,
        spec::AdapterKind::kLoha, spec::AdapterKind::kLokr, spec::AdapterKind::kFourierft}) {
    if (run.method == Name(kind)) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> NamesIn(const Run& run, std::string_view key) {
  std::vector<std::string> names;
  const Node* node = run.settings.Find(key);
  if (node == nullptr) return names;
  for (const Node& name : node->items) names.push_back(name.text);
  return names;
}

std::optional<std::int64_t> SizeIn(const Run& run, std::string_view key) {
  const Node* node = run.settings.Find(key);
  if (node == nullptr || node->kind != NodeKind::kInt) return std::nullopt;
  return node->integer;
}

// Ranks and targets of adapters other than LoRA stand among PEFT's own settings.
void SetKind(const Run& run, spec::LoraRecipe& lora) {
  const auto kind = KindOf(run);
  if (!kind) return;
  lora.kind = *kind;
  lora.feedforward = NamesIn(run, "feedforward_modules");
  const std::string_view rank = *kind == spec::AdapterKind::kAdalora     ? "init_r"
                                : *kind == spec::AdapterKind::kFourierft ? "n_frequency"
                                                                         : "r";
  lora.rank = SizeIn(run, rank).value_or(lora.rank);
}

Method MethodOf(const Run& run) {
  if (QuantizationOf(run)) return Method::kQlora;
  return run.method == "lora" || KindOf(run) ? Method::kLora : Method::kFull;
}

// Autocast as the source's own flags say it, else as its trainer does it.
bool HasAutocast(const Run& run, const KnownFramework& framework) {
  for (const std::string_view flag : {"bf16", "fp16", "use_amp"}) {
    if (Switch(run, flag).value_or(false)) return true;
  }
  const bool is_said = Switch(run, "bf16").has_value() || Switch(run, "use_amp").has_value();
  return !is_said && framework.has_autocast;
}

// "…-true": 16-bit weights, whether or not forward runs under autocast; "…-mixed": fp32 weights
// under autocast, unless the source says in which type it loads them.
void SetPrecision(const Run& run, const KnownFramework& framework, Recipe& recipe) {
  if (run.precision.empty()) return;
  if (Contains(run.precision, "fp8")) {  // of the products; the rest as in bf16
    recipe.precision = Precision::kBf16Mixed;
    return;
  }
  const bool is_fp16 = Contains(run.precision, "fp16") || run.precision == "float16";
  const bool is_fp32 = run.precision == "fp32" || run.precision == "float32";
  if (is_fp32) {
    recipe.precision = Precision::kFp32;
    return;
  }
  const Dtype half = is_fp16 ? Dtype::kFp16 : Dtype::kBf16;
  const Precision mixed = is_fp16 ? Precision::kFp16Mixed : Precision::kBf16Mixed;
  const Precision pure = is_fp16 ? Precision::kFp16Pure : Precision::kBf16Pure;
  if (run.precision.ends_with("-mixed")) {
    recipe.precision = mixed;
    recipe.load_dtype = spec::ParseDtype(Setting(run, "torch_dtype"));
    return;
  }
  recipe.precision = HasAutocast(run, framework) ? mixed : pure;
  recipe.load_dtype = half;
}

void SetOptimizer(const Run& run, const KnownFramework& framework, Recipe& recipe) {
  using spec::Optimizer;
  struct Word {
    std::string_view text;
    Optimizer optimizer;
  };
  constexpr Word kWords[] = {{"adamw_8bit", Optimizer::kAdamW8bit},
                             {"adamw_bnb_8bit", Optimizer::kAdamW8bit},
                             {"paged_adamw", Optimizer::kPagedAdamW},
                             {"paged_adamw_32bit", Optimizer::kPagedAdamW},
                             {"paged_adamw_8bit", Optimizer::kPagedAdamW8bit},
                             {"adafactor", Optimizer::kAdafactor},
                             {"lion", Optimizer::kLion},
                             {"sgd", Optimizer::kSgd}};
  recipe.optimizer = Optimizer::kAdamW;
  for (const Word& word : kWords) {
    if (word.text == run.optimizer) recipe.optimizer = word.optimizer;
  }
  if (*recipe.optimizer != Optimizer::kAdamW) return;
  if (Contains(run.optimizer, "fused") || Contains(run.optimizer, "Fused")) {
    recipe.optimizer_loop = spec::OptimizerLoop::kFused;
  } else if (run.optimizer == "adamw_torch" || framework.has_plain_optimizer) {
    // torch/optim/optimizer.py _default_to_fused_or_foreach: foreach on CUDA.
    recipe.optimizer_loop = spec::OptimizerLoop::kForeach;
  }
}

void SetKernels(const Run& run, Recipe& recipe) {
  using spec::LossKernel;
  const bool is_foak = Contains(run.kernels, "foak");
  const bool has_liger = Contains(run.kernels, "liger");
  recipe.liger_kernels = is_foak || has_liger;
  // fms_acceleration_foak models/: rules for norms, rotary and the loss; none for the activation.
  if (is_foak) recipe.fused_activation = false;
  if (has_liger) {
    recipe.loss = LossKernel::kFusedLinear;
  } else if (is_foak) {
    recipe.loss = LossKernel::kTritonCrossEntropy;
  }
}

void SetAttention(const Run& run, Recipe& recipe) {
  recipe.first_flash = Contains(run.attention_detail, "Triton");
  using spec::AttentionImplementation;
  for (const auto how : {AttentionImplementation::kEager, AttentionImplementation::kSdpa,
                         AttentionImplementation::kFlash2, AttentionImplementation::kFlash3}) {
    if (AttentionOf(run) == spec::Name(how)) recipe.attention = how;
  }
}

void SetCheckpointing(const Run& run, const KnownFramework& framework, Recipe& recipe) {
  if (run.checkpointing == "full") recipe.checkpointing = spec::Checkpointing::kFull;
  if (run.checkpointing == "selective" && framework.has_selective) {
    recipe.checkpointing = spec::Checkpointing::kPerOperator;
  }
  if (run.checkpointing == "none") recipe.checkpointing = spec::Checkpointing::kNone;
}

bool IsModuleOf(const spec::ModelSpec& model, std::string_view target) {
  if (target == "all-linear") return true;
  const std::string weight = std::string(target) + ".weight";
  for (const spec::LayerKind& kind : model.Text().kinds) {
    for (const spec::TensorSpec& tensor : kind.tensors) {
      if (tensor.name == weight || tensor.name.ends_with("." + weight)) return true;
    }
  }
  return false;
}

// One list of names for several models: PEFT passes over a name that a model does not have, as long
// as it has another (tuners/tuners_utils.py, inject_adapter).
std::vector<std::string> TargetsIn(const spec::ModelSpec& model,
                                   const std::vector<std::string>& targets) {
  std::vector<std::string> found;
  std::copy_if(targets.begin(), targets.end(), std::back_inserter(found),
               [&](const std::string& target) { return IsModuleOf(model, target); });
  return found.empty() ? targets : found;
}

// litgpt and torchtune name what a matrix does; transformers has a module for each in most models.
struct PartName {
  std::string_view word;
  std::array<std::string_view, 3> modules;
};
constexpr std::array kPartNames = {PartName{"attn.qkv: q,v", {"q_proj", "v_proj"}},
                                   PartName{"q", {"q_proj"}},
                                   PartName{"v", {"v_proj"}},
                                   PartName{"query", {"q_proj"}},
                                   PartName{"key", {"k_proj"}},
                                   PartName{"value", {"v_proj"}},
                                   PartName{"projection", {"o_proj"}},
                                   PartName{"output_proj", {"o_proj"}},
                                   PartName{"mlp", {"gate_proj", "up_proj", "down_proj"}}};

// Errors: a part that is no module of its own in this model.
Expected<std::vector<std::string>> TargetsByPart(const spec::ModelSpec& model,
                                                 const std::vector<std::string>& words) {
  std::vector<std::string> targets;
  for (const std::string& word : words) {
    const auto* const part = std::find_if(kPartNames.begin(), kPartNames.end(),
                                          [&](const PartName& p) { return p.word == word; });
    const std::array<std::string_view, 3> itself = {word};
    for (const std::string_view module : part != kPartNames.end() ? part->modules : itself) {
      if (module.empty()) continue;
      if (!IsModuleOf(model, module)) {
        return Fail(Error("fused", "LoRA on a part of a fused matrix (" + word + ")"));
      }
      targets.emplace_back(module);
    }
  }
  return targets;
}

void SetAdapters(const Run& run, const spec::ModelSpec& model,
                 const std::vector<std::string>& targets, Recipe& recipe) {
  if (recipe.method == Method::kFull || (!run.lora && !KindOf(run))) return;
  spec::LoraRecipe lora;
  if (run.lora) {
    lora.rank = run.lora->rank.value_or(lora.rank);
    lora.dropout = run.lora->dropout.value_or(0.0);
  }
  lora.targets = TargetsIn(model, run.lora ? targets : NamesIn(run, "target_modules"));
  SetKind(run, lora);
  if (const Node* saved = run.settings.Find("modules_to_save")) {
    for (const Node& name : saved->items) lora.modules_to_save.push_back(name.text);
  }
  recipe.lora = std::move(lora);
  if (recipe.method == Method::kQlora) {
    recipe.quantization = QuantizationOf(run);
    recipe.double_quantization = run.quantization.ends_with("-dq");
  }
  // fms-acceleration's accelerated-peft plugin wraps the model itself and leaves the upcast to fp32
  // out (plugins/accelerated-peft framework_plugin_bnb.py).
  if (Setting(run, "framework_config").starts_with("accelerated-peft")) {
    recipe.kbit_preparation = false;
  }
}

spec::Offload OffloadOf(const Run& run, std::string_view what) {
  const Node* node = run.offload.Find(what);
  if (node == nullptr) return spec::Offload::kNone;
  if (node->text == "cpu") return spec::Offload::kCpu;
  return node->text == "nvme" ? spec::Offload::kNvme : spec::Offload::kNone;
}

void SetZero(const Run& run, const KnownFramework& framework, Recipe& recipe) {
  if (!recipe.sharding) return;
  // FSDP's NO_SHARD sums one flat gradient a unit where it lies.
  recipe.gradients_view_buckets =
      run.parallel.Find("fsdp") != nullptr && *recipe.sharding == spec::Sharding::kDdp;
  const bool is_fsdp = plan::IsFsdp(*recipe.sharding);
  if (is_fsdp && OffloadOf(run, "params") == spec::Offload::kCpu) {
    recipe.zero.offload_param = spec::Offload::kCpu;
  }
  if (!plan::IsZero(*recipe.sharding)) return;
  recipe.zero.offload_optimizer = OffloadOf(run, "optimizer");
  recipe.zero.offload_param = OffloadOf(run, "params");
  if (*recipe.sharding != spec::Sharding::kZero3 && framework.zero2_bucket > 0) {
    recipe.zero.reduce_bucket_size = framework.zero2_bucket;
  }
}

Expected<Recipe> RecipeOf(const Run& run, const spec::ModelSpec& model,
                          const KnownFramework& framework) {
  std::vector<std::string> targets = run.lora ? run.lora->targets : std::vector<std::string>();
  if (framework.names_parts) {
    ASSIGN_OR_RETURN(targets, TargetsByPart(model, targets));
  }
  Recipe recipe;
  recipe.method = MethodOf(run);
  recipe.framework = framework.facts;
  SetPrecision(run, framework, recipe);
  SetOptimizer(run, framework, recipe);
  recipe.optimizer_in_backward = Switch(run, "optimizer_in_bwd");
  recipe.micro_batch = run.micro_batch;
  recipe.gradient_accumulation = run.accumulation;
  recipe.sequence_length = run.length;
  SetCheckpointing(run, framework, recipe);
  SetAttention(run, recipe);
  // Composer's "PURE" sums gradients in the compute dtype; its "DEFAULT" is the framework's own.
  if (Setting(run, "fsdp_mixed_precision") == "PURE") recipe.reduce_dtype = Dtype::kBf16;
  if (run.kernels == "none" && framework.chunks_loss_by_choice) recipe.loss_pieces = 0;
  const Node* strategy = run.parallel.Find("fsdp");
  const bool keeps_whole = strategy != nullptr && WithoutRemark(strategy->text) == "shard_grad_op";
  if (keeps_whole || Setting(run, "reshard_after_forward") == "never") {
    recipe.reshard_after_forward = false;
  }
  SetKernels(run, recipe);
  SetAdapters(run, model, targets, recipe);
  const spec::Sharding sharding = ShardingOf(run);
  if (sharding != spec::Sharding::kNone) recipe.sharding = sharding;
  SetZero(run, framework, recipe);
  const Node* tensor = run.parallel.Find("tp");
  if (framework.splits_layers && tensor != nullptr && tensor->integer > 1) {
    recipe.parallelism.emplace().tensor = tensor->integer;
  }
  recipe.padding_free = run.packing;
  return recipe;
}

// A head of its own, as wide as the embedding that it is tied to elsewhere.
ModelPointer Untied(const ModelPointer& model) {
  if (!model->tied_head) return model;
  auto untied = std::make_shared<spec::ModelSpec>(*model);
  untied->tied_head = false;
  spec::Stack& text = untied->stacks.back();  // as ModelSpec::Text
  for (const spec::TensorSpec& tensor : text.before) {
    if (tensor.part != spec::Part::kTokenEmbedding) continue;
    spec::TensorSpec head = tensor;
    head.name = "lm_head.weight";
    head.part = spec::Part::kHead;
    head.is_linear = true;
    text.after.push_back(std::move(head));
    break;
  }
  return untied;
}

// Names of cards carry remarks: "H100 96GB HBM2e (500W, 94.99 GiB usable)".
Expected<spec::Machine> MachineOf(const Run& run, const catalog::Catalog& catalog) {
  auto found = catalog.FindGpu(run.gpu);
  const std::size_t remark = run.gpu.find(" (");
  if (!found.has_value() && remark != std::string::npos) {
    found = catalog.FindGpu(run.gpu.substr(0, remark));
  }
  if (!found.has_value())
    return Fail(Error("unknown-gpu", "GPU not stated or not in the catalogue"));
  spec::Machine machine;
  machine.gpu = found->record.gpu;
  if (machine.gpu.vendor != "NVIDIA") {
    return Fail(Error("vendor", machine.gpu.vendor + " GPUs: no fact rows yet"));
  }
  const std::int64_t gpus = run.gpus.value_or(RanksOfOneCopy(run).value_or(1));
  machine.nodes = std::clamp<std::int64_t>(run.nodes.value_or(1), 1, gpus);
  machine.gpus_per_node = gpus / machine.nodes;
  machine.written_as = run.gpu;
  machine.host_memory_per_node = run.host_memory;
  machine.assumptions = found->assumptions;
  // Links that are not known leave the time of several ranks unknown, not their memory.
  if (auto fabric = catalog::JoinGpus(catalog, nullptr, &machine); fabric.has_value()) {
    machine.fabric = *std::move(fabric);
  }
  SetNetwork(run.interconnect, catalog, &machine);
  return machine;
}

// Megatron's local layers are those without Transformer Engine. The plugins of fms-acceleration are
// named by the configuration that turns them on; their first release does what the newest does.
std::string VersionsOf(const Run& run) {
  if (Setting(run, "framework_config").find("accelerated-peft") != std::string::npos) {
    return run.framework_version + ", fms-acceleration-peft 0.1.0";
  }
  if (run.kernels != "local") return run.framework_version;
  return run.framework_version + ", TransformerEngine 0.0.0";
}

}  // namespace

Expected<verdict::Case> CaseOf(const Run& run, const catalog::Catalog& catalog,
                               ModelFinder& models) {
  if (const auto reason = WhyNotSimulated(run)) return Fail(Error("refused", *reason));
  const KnownFramework& framework = *MatchFramework(run.framework).known;
  verdict::Case question;
  if (framework.splits_models && !run.arch.members.empty()) {
    ASSIGN_OR_RETURN(question.model, MegatronModel(run));
  } else {
    ASSIGN_OR_RETURN(question.model, models.Find(run));
  }
  if (!question.model->not_simulated.empty()) {
    return Fail(Error("not-simulated", "model: " + question.model->not_simulated));
  }
  if (framework.unties_head) question.model = Untied(question.model);
  ASSIGN_OR_RETURN(question.machine, MachineOf(run, catalog));
  ASSIGN_OR_RETURN(question.facts, FactsOf(framework, VersionsOf(run)));
  ASSIGN_OR_RETURN(question.recipe, RecipeOf(run, *question.model, framework));
  if (framework.splits_models) SetMegatron(run, question.machine.gpu, question.recipe);
  return question;
}

}  // namespace trainfit::validate
