#include "validate/megatron_run.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;
using spec::AttentionImplementation;

const Node* Present(const Node& object, std::string_view key) {
  const Node* node = object.Find(key);
  return node == nullptr || node->kind == NodeKind::kNull ? nullptr : node;
}

bool IsOn(const Node& object, std::string_view key) {
  const Node* node = Present(object, key);
  if (node == nullptr) return false;
  return node->kind == NodeKind::kBool ? node->boolean : node->text == "true";
}

std::int64_t Number(const Node& object, std::string_view key, std::int64_t fallback) {
  const Node* node = Present(object, key);
  return node != nullptr && node->kind == NodeKind::kInt ? node->integer : fallback;
}

std::optional<double> Fraction(const Node& object, std::string_view key) {
  const Node* node = Present(object, key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == NodeKind::kInt) return static_cast<double>(node->integer);
  if (node->kind == NodeKind::kDouble) return node->real;
  return std::nullopt;
}

std::string Word(const Node& object, std::string_view key) {
  const Node* node = Present(object, key);
  return node == nullptr ? std::string() : node->text;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t VirtualStages(const Run& run, std::int64_t pipeline) {
  const Node& settings = run.settings;
  const std::int64_t by_rank = Number(settings, "num-virtual-stages-per-pipeline-rank", 0);
  if (by_rank > 0) return by_rank;
  const std::int64_t layers = Number(run.arch, "layers", 0);
  const std::int64_t size = Number(settings, "num-layers-per-virtual-pipeline-stage", 0);
  if (size > 0 && layers > 0) return std::max<std::int64_t>(layers / pipeline / size, 1);
  return Number(run.parallel, "vpp", 1);
}

// "[layernorm mla_up_proj]", or a list; without one, core attention (transformer_config.py).
std::vector<std::string> RecomputedModules(const Run& run) {
  std::vector<std::string> words;
  for (const std::string_view key : {"recompute-modules", "recompute_modules"}) {
    const Node* node = Present(run.settings, key);
    if (node == nullptr) continue;
    for (const Node& item : node->items) words.push_back(item.text);
    std::string word;
    for (const char c : node->text + " ") {
      const bool is_letter = (c >= 'a' && c <= 'z') || c == '_';
      if (is_letter) word += c;
      if (is_letter || word.empty()) continue;
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (words.empty()) words.emplace_back("core_attn");
  return words;
}

// Megatron writes moe_act where the command line takes moe-act.
std::optional<spec::Recompute> ParseRecompute(std::string word) {
  using spec::Recompute;
  std::replace(word.begin(), word.end(), '_', '-');
  for (int i = 0; i <= static_cast<int>(Recompute::kSharedExperts); ++i) {
    const auto module = static_cast<Recompute>(i);
    if (spec::Name(module) == word) return module;
  }
  return std::nullopt;
}

struct Flag {
  std::string_view name;
  const char* reason;
};
// Flags that change what is held or run, and have no lowering.
constexpr std::array kUnknownFlags = {
    Flag{"mtp-num-layers", "multi-token prediction"},
    Flag{"cuda-graph-impl", "CUDA graphs"},
    Flag{"use-megatron-fsdp", "Megatron-FSDP"},
    Flag{"pipeline-model-parallel-layout", "pipeline layouts written out"},
    Flag{"hybrid-layer-pattern", "hybrid layers"},
    Flag{"tp-comm-overlap", "buffers of overlapped tensor parallelism"},
    Flag{"use_precision_aware_optimizer", "precision-aware optimizer"},
    Flag{"optimizer_offload_fraction", "optimizer offload"},
    Flag{"hierarchical-context-parallel-sizes", "hierarchical context parallelism"},
    Flag{"defer-embedding-wgrad-compute", "deferred embedding gradients"},
    Flag{"overlap-moe-expert-parallel-comm", "overlapped expert parallelism"},
    Flag{"microbatch-group-size-per-virtual-pipeline-stage",
         "groups of micro-batches of another "
         "size"},
};

}  // namespace

std::optional<std::string> WhyNotMegatron(const Run& run) {
  if (run.method != "pretrain" && run.method != "full") return "method " + run.method;
  if (Contains(run.precision, "fp4")) return "precision " + run.precision;
  if (Contains(run.optimizer, "muon")) return "optimizer muon";
  for (const Flag& flag : kUnknownFlags) {
    if (Present(run.settings, flag.name) != nullptr) return flag.reason;
  }
  if (Number(run.settings, "num-distributed-optimizer-instances", 1) > 1) {
    return "several instances of the distributed optimizer";
  }
  if (Number(run.parallel, "zero", 0) > 1) return "Megatron with ZeRO-2 or ZeRO-3";
  const std::string family = Word(run.arch, "family");
  for (const std::string_view other : {"bert", "t5", "hybrid", "nemotron"}) {
    if (family == other) return "family " + family;
  }
  if (Word(run.settings, "moe-token-dispatcher-type") == "flex") return "flexible dispatcher";
  if (run.checkpointing == "selective") {
    const std::vector<std::string> words = RecomputedModules(run);
    for (const std::string& word : words) {
      if (!ParseRecompute(word)) return "recomputation of " + word;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> RanksOfOneCopy(const Run& run) {
  // Without the distributed optimizer a rank holds the same however many replicas there are.
  if (Number(run.parallel, "zero", 0) != 0 || Number(run.parallel, "ep", 1) > 1) return {};
  return Number(run.parallel, "tp", 1) * Number(run.parallel, "pp", 1) *
         Number(run.parallel, "cp", 1);
}

namespace {

// megatron/training/arguments.py: --fp8-recipe defaults to delayed ("tensorwise": current).
spec::Fp8 Fp8Of(const Run& run) {
  const std::string words =
      run.precision + " " + run.precision_detail + " " + Word(run.settings, "fp8-recipe");
  spec::Fp8 fp8;
  if (Contains(words, "current") || Contains(words, "tensorwise") || Contains(words, "CS")) {
    fp8.scaling = spec::Fp8Scaling::kCurrent;
  }
  if (Contains(words, "block")) fp8.scaling = spec::Fp8Scaling::kBlock;
  if (Contains(words, "MX") || Contains(words, "mxfp8")) fp8.scaling = spec::Fp8Scaling::kMx;
  if (Contains(words, "delayed")) fp8.scaling = spec::Fp8Scaling::kDelayed;
  fp8.parameters = Contains(words, "fp8_params") || IsOn(run.settings, "fp8-param-gather");
  return fp8;
}

}  // namespace

void SetMegatron(const Run& run, const spec::Gpu& gpu, spec::Recipe& recipe) {
  const Node& settings = run.settings;
  spec::Parallelism parallelism;
  parallelism.tensor = Number(run.parallel, "tp", 1);
  parallelism.pipeline = Number(run.parallel, "pp", 1);
  parallelism.context = Number(run.parallel, "cp", 1);
  parallelism.expert = Number(run.parallel, "ep", 1);
  if (const std::int64_t etp = Number(run.parallel, "etp", 0); etp > 0) {
    parallelism.expert_tensor = etp;
  }
  parallelism.virtual_stages = VirtualStages(run, parallelism.pipeline);
  parallelism.sequence_parallel = IsOn(run.parallel, "sp") ||
                                  IsOn(run.parallel, "sequence_parallel") ||
                                  IsOn(settings, "sequence-parallel");
  if (const auto n = Number(settings, "decoder-first-pipeline-num-layers", 0); n > 0) {
    parallelism.first_stage_layers = n;
  }
  if (const auto n = Number(settings, "decoder-last-pipeline-num-layers", 0); n > 0) {
    parallelism.last_stage_layers = n;
  }
  // DeepSpeed's type:transformer|embedding: both ends of the word table count as a layer each
  // (deepspeed/runtime/pipe/module.py _partition_layers).
  const std::int64_t layers = Number(run.arch, "layers", 0);
  const std::int64_t counted = layers + 2;
  if (Contains(Word(settings, "pp_partition"), "embedding") &&
      counted % parallelism.pipeline == 0) {
    parallelism.first_stage_layers = counted / parallelism.pipeline - 1;
    parallelism.last_stage_layers = parallelism.first_stage_layers;
  }
  if (run.checkpointing == "selective") {
    recipe.checkpointing = spec::Checkpointing::kSelective;
    for (const std::string& word : RecomputedModules(run)) {
      if (const auto module = ParseRecompute(word)) recipe.recompute.push_back(*module);
    }
  }
  recipe.parallelism = parallelism;
  if (!run.gpus && !run.accumulation) {
    recipe.gradient_accumulation = std::max<std::int64_t>(
        Number(settings, "global-batch-size", 1) / std::max<std::int64_t>(*run.micro_batch, 1), 1);
  }
  recipe.sharding =
      Number(run.parallel, "zero", 0) == 1 ? spec::Sharding::kZero1 : spec::Sharding::kDdp;
  if (Contains(run.precision, "fp8")) recipe.fp8 = Fp8Of(run);
  recipe.padding_free = true;
  recipe.zero = {};  // Megatron's stage 1 is its own distributed optimizer
  recipe.optimizer = spec::Optimizer::kAdamW;
  recipe.optimizer_loop.reset();

  // Megatron's own arguments drop out a tenth; models of the Llama family are run without.
  const bool has_flags = Present(settings, "num-layers") != nullptr;
  const bool is_llama = !has_flags && (IsOn(run.arch, "swiglu") || IsOn(run.arch, "glu"));
  const double fallback = is_llama ? 0.0 : 0.1;
  recipe.hidden_dropout = Fraction(settings, "hidden-dropout").value_or(fallback);
  recipe.attention_dropout = Fraction(settings, "attention-dropout").value_or(fallback);
  recipe.fused_accumulation = !IsOn(settings, "no-gradient-accumulation-fusion");
  recipe.overlap_reduce = IsOn(settings, "overlap-grad-reduce");
  recipe.overlap_gather = IsOn(settings, "overlap-param-gather");
  // arguments.py: bf16 sums up and reduces in fp32 unless told otherwise; fp16 in fp16.
  const bool says_fp32 = IsOn(settings, "accumulate-allreduce-grads-in-fp32") ||
                         IsOn(settings, "fp32_grad_accumulation");
  const bool is_fp16 = run.precision.starts_with("fp16");
  if (IsOn(settings, "grad-reduce-in-bf16")) recipe.gradient_dtype = spec::Dtype::kBf16;
  if (is_fp16 && !says_fp32) recipe.gradient_dtype = spec::Dtype::kFp16;
  // transformer_config.py: cross_entropy_fusion_impl = native unless te is asked for.
  if (IsOn(settings, "cross-entropy-loss-fusion")) {
    recipe.loss = Word(settings, "cross-entropy-fusion-impl") == "te"
                      ? spec::LossKernel::kTritonCrossEntropy
                      : spec::LossKernel::kCompiled;
  } else if (Contains(run.kernels, "transformer-engine, fused CE")) {
    recipe.loss = spec::LossKernel::kTritonCrossEntropy;
  }

  const std::string backend = Word(settings, "attention-backend");
  const bool is_local = run.kernels == "local";
  const bool is_hopper = gpu.compute_capability >= "9." || gpu.compute_capability.size() > 3;
  if (run.attention.starts_with("eager") || backend == "unfused" || backend == "local" ||
      is_local) {
    recipe.attention = AttentionImplementation::kEager;
  } else if (run.attention == "flash2" || backend == "flash") {
    recipe.attention = AttentionImplementation::kFlash2;
  } else {
    // transformer_engine get_attention_backend prefers cuDNN from Hopper on.
    recipe.attention =
        is_hopper ? AttentionImplementation::kCudnn : AttentionImplementation::kFlash2;
  }
}

}  // namespace trainfit::validate
