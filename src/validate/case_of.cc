#include "validate/case_of.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "catalog/fabric.h"
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

Method MethodOf(const Run& run) {
  if (QuantizationOf(run)) return Method::kQlora;
  return run.method == "lora" ? Method::kLora : Method::kFull;
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
  using spec::AttentionImplementation;
  for (const auto how : {AttentionImplementation::kEager, AttentionImplementation::kSdpa,
                         AttentionImplementation::kFlash2, AttentionImplementation::kFlash3}) {
    if (run.attention == spec::Name(how)) recipe.attention = how;
  }
}

void SetCheckpointing(const Run& run, Recipe& recipe) {
  if (run.checkpointing == "full") recipe.checkpointing = spec::Checkpointing::kFull;
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

void SetAdapters(const Run& run, const spec::ModelSpec& model, Recipe& recipe) {
  if (recipe.method == Method::kFull || !run.lora) return;
  spec::LoraRecipe lora;
  lora.rank = run.lora->rank.value_or(lora.rank);
  lora.dropout = run.lora->dropout.value_or(0.0);
  lora.targets = TargetsIn(model, run.lora->targets);
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
  if (!recipe.sharding || !plan::IsZero(*recipe.sharding)) return;
  recipe.zero.offload_optimizer = OffloadOf(run, "optimizer");
  recipe.zero.offload_param = OffloadOf(run, "params");
  if (*recipe.sharding != spec::Sharding::kZero3 && framework.zero2_bucket > 0) {
    recipe.zero.reduce_bucket_size = framework.zero2_bucket;
  }
}

Recipe RecipeOf(const Run& run, const spec::ModelSpec& model, const KnownFramework& framework) {
  Recipe recipe;
  recipe.method = MethodOf(run);
  recipe.framework = framework.facts;
  SetPrecision(run, framework, recipe);
  SetOptimizer(run, framework, recipe);
  recipe.micro_batch = run.micro_batch;
  recipe.gradient_accumulation = run.accumulation;
  recipe.sequence_length = run.length;
  SetCheckpointing(run, recipe);
  SetAttention(run, recipe);
  SetKernels(run, recipe);
  SetAdapters(run, model, recipe);
  const spec::Sharding sharding = ShardingOf(run);
  if (sharding != spec::Sharding::kNone) recipe.sharding = sharding;
  SetZero(run, framework, recipe);
  recipe.padding_free = run.packing;
  return recipe;
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
  machine.assumptions = found->assumptions;
  // Links that are not known leave the time of several ranks unknown, not their memory.
  if (auto fabric = catalog::JoinGpus(catalog, nullptr, &machine); fabric.has_value()) {
    machine.fabric = *std::move(fabric);
  }
  SetNetwork(run.interconnect, catalog, &machine);
  return machine;
}

// Megatron's local layers are those without Transformer Engine.
std::string VersionsOf(const Run& run) {
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
  ASSIGN_OR_RETURN(question.machine, MachineOf(run, catalog));
  ASSIGN_OR_RETURN(question.facts, FactsOf(framework, VersionsOf(run)));
  question.recipe = RecipeOf(run, *question.model, framework);
  if (framework.splits_models) SetMegatron(run, question.machine.gpu, question.recipe);
  return question;
}

}  // namespace trainfit::validate
