#include "validate/supported.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/fsdp.h"
#include "plan/zero.h"
#include "validate/frameworks_known.h"
#include "validate/megatron_run.h"

namespace trainfit::validate {
namespace {

using config::Node;
using config::NodeKind;
using Reason = std::optional<std::string>;

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::int64_t Degree(const Run& run, std::string_view key) {
  const Node* node = run.parallel.Find(key);
  return node != nullptr && node->kind == NodeKind::kInt ? node->integer : 0;
}

std::string Setting(const Run& run, std::string_view key) {
  const Node* node = run.settings.Find(key);
  return node != nullptr ? node->text : std::string();
}

Reason Kind(const Run& run) {
  if (run.kind == "phase") return "kind phase: probes inside a step";
  // Reference and reward models, paired batches, generation: none of it is in the program of a
  // step.
  constexpr std::array kOtherTasks = {"dpo", "orpo",         "kto",    "grpo",
                                      "ppo", "reward-model", "predict"};
  for (const char* task : kOtherTasks) {
    if (run.task == task) return fmt::format("task {}", task);
  }
  return std::nullopt;
}

Reason Framework(const Run& run) {
  if (run.framework.empty()) return "framework not stated";
  const FrameworkMatch match = MatchFramework(run.framework);
  if (match.known == nullptr) return "framework " + match.name + ": no fact rows yet";
  return std::nullopt;
}

Reason Method(const Run& run) {
  constexpr std::array<std::string_view, 9> kKnown = {"full", "lora", "qlora", "pretrain", "dora",
                                                      "ia3",  "loha", "lokr",  "fourierft"};
  if (run.method.empty()) return "method not stated";
  // AdaLoRA's rank is known where PEFT's own settings are given.
  const bool is_adalora = run.method == "adalora" && run.settings.Find("init_r") != nullptr;
  if (!IsOneOf(run.method, kKnown) && !is_adalora) return "method " + run.method;
  return std::nullopt;
}

Reason Quantization(const Run& run) {
  constexpr std::array<std::string_view, 10> kKnown = {
      "", "none", "nf4", "nf4-dq", "fp4", "fp4-dq", "int8", "gptq-int4", "gptq-int8", "awq-int4"};
  if (!IsOneOf(run.quantization, kKnown)) return "quantization " + run.quantization;
  const bool is_quantized = !run.quantization.empty() && run.quantization != "none";
  if (is_quantized && run.method == "full") return "full fine-tuning of quantized weights";
  if (run.method == "qlora" && !is_quantized) return "quantization not stated";
  return std::nullopt;
}

Reason Adapters(const Run& run) {
  if (run.method != "lora" && run.method != "qlora") return std::nullopt;
  if (!run.lora || !run.lora->rank || run.lora->targets.empty()) return "LoRA rank or targets";
  const std::string bias = Setting(run, "bias");
  if (!bias.empty() && bias != "none") return "LoRA with trained biases";
  for (const std::string_view key : {"use_dora", "layers_to_transform", "rank_pattern"}) {
    const Node* node = run.settings.Find(key);
    const bool is_set = node != nullptr && node->kind != NodeKind::kNull &&
                        !(node->kind == NodeKind::kBool && !node->boolean) &&
                        !(node->kind == NodeKind::kObject && node->members.empty());
    if (is_set) return "LoRA with " + std::string(key);
  }
  return std::nullopt;
}

bool SplitsModels(const Run& run) {
  const FrameworkMatch match = MatchFramework(run.framework);
  return match.known != nullptr && match.known->splits_models;
}

bool SplitsLayers(const Run& run) {
  const FrameworkMatch match = MatchFramework(run.framework);
  return match.known != nullptr && match.known->splits_layers;
}

Reason Megatron(const Run& run) { return SplitsModels(run) ? WhyNotMegatron(run) : std::nullopt; }

Reason Parallel(const Run& run) {
  struct Axis {
    std::string_view key;
    const char* reason;
  };
  constexpr std::array kAxes = {
      Axis{"tp", "tensor parallel"},   Axis{"pp", "pipeline parallel"},
      Axis{"cp", "context parallel"},  Axis{"ep", "expert parallel"},
      Axis{"sp", "sequence parallel"}, Axis{"layer_split", "naive layer split (device_map)"}};
  if (SplitsModels(run) && run.gpus.value_or(1) > 1 && run.parallel.members.empty()) {
    return "how the model is split over the GPUs is not stated";
  }
  if (SplitsModels(run) && RanksOfOneCopy(run)) return std::nullopt;
  if (!run.gpus) return "number of GPUs not stated";
  if (SplitsModels(run)) return std::nullopt;
  for (const Axis& axis : kAxes) {
    if (axis.key == "tp" && SplitsLayers(run)) continue;
    if (Degree(run, axis.key) > 1) return axis.reason;
  }
  const bool is_deepspeed = MatchFramework(run.framework).spreader == Spreader::kDeepSpeed;
  if (is_deepspeed && !plan::IsZero(ShardingOf(run))) {
    return "DeepSpeed: stage 1, 2 or 3 not stated";
  }
  constexpr std::array<std::string_view, 4> kStrategies = {"", "full_shard", "shard_grad_op",
                                                           "no_shard"};
  const Node* strategy = run.parallel.Find("fsdp");
  if (strategy != nullptr && !IsOneOf(WithoutRemark(strategy->text), kStrategies)) {
    return "FSDP strategy " + strategy->text;
  }
  return std::nullopt;
}

bool OffloadsShards(const Run& run) {
  const Node* parameters = run.offload.Find("params");
  return plan::IsFsdp(ShardingOf(run)) && parameters != nullptr && parameters->text == "cpu";
}

// What DeepSpeed and FSDP offload; other ways to do it have no lowering yet.
Reason Offload(const Run& run) {
  for (const config::Member& member : run.offload.members) {
    const std::string& where = member.value.text;
    if (where.empty() || where == "none") continue;
    const bool is_zero = plan::IsZero(ShardingOf(run));
    const bool is_known = (member.key == "optimizer" || member.key == "params") &&
                          (where == "cpu" || where == "nvme");
    const bool is_fsdp = is_known && where == "cpu" && OffloadsShards(run);
    if (!(is_zero && is_known) && !is_fsdp) return "offload of " + member.key;
  }
  return std::nullopt;
}

// Per operator; other programs, and torchtitan's other ways, mean something else by the word.
bool HasSelective(const Run& run) {
  const std::string option = Setting(run, "selective_ac_option");
  const FrameworkMatch match = MatchFramework(run.framework);
  return match.known != nullptr && match.known->has_selective &&
         (option.empty() || option.starts_with("op"));
}

Reason Numbers(const Run& run) {
  if (SplitsModels(run)) return std::nullopt;
  constexpr std::array<std::string_view, 9> kPrecisions = {"bf16-true",  "bf16-mixed", "fp16-true",
                                                           "fp16-mixed", "bfloat16",   "float32",
                                                           "fp32",       "float16",    ""};
  if (!IsOneOf(run.precision, kPrecisions)) return "precision " + run.precision;
  constexpr std::array<std::string_view, 16> kOptimizers = {"",
                                                            "decoupled_adamw",
                                                            "adamw",
                                                            "adamw_torch",
                                                            "adamw_torch_fused",
                                                            "adamw (apex FusedAdam)",
                                                            "adamw_8bit",
                                                            "adamw_bnb_8bit",
                                                            "paged_adamw",
                                                            "paged_adamw_32bit",
                                                            "paged_adamw_8bit",
                                                            "adafactor",
                                                            "lion",
                                                            "sgd",
                                                            "AdamW",
                                                            "adam"};
  if (!IsOneOf(run.optimizer, kOptimizers)) return "optimizer " + run.optimizer;
  constexpr std::array<std::string_view, 3> kCheckpointing = {"", "none", "full"};
  const bool is_selective = run.checkpointing == "selective" && HasSelective(run);
  if (!is_selective && !IsOneOf(run.checkpointing, kCheckpointing)) {
    return run.checkpointing + " activation checkpointing";
  }
  constexpr std::array<std::string_view, 5> kAttention = {"", "eager", "sdpa", "flash2", "flash3"};
  if (!IsOneOf(AttentionOf(run), kAttention)) return "attention " + run.attention;
  return std::nullopt;
}

Reason Kernels(const Run& run) {
  if (SplitsModels(run)) return std::nullopt;
  constexpr std::array<std::string_view, 14> kKnown = {
      "",
      "none",
      "eager",
      "low_precision_layernorm; no torch.compile stated",
      "chunked CE",
      "chunked CE (lm_head_chunk_size 128)",
      "foak: fused LoRA/RoPE/RMSNorm/CE triton kernels (unsloth-derived)",
      "foak: fused LoRA/RoPE/RMSNorm/CE triton kernels (unsloth-derived); liger fused-linear-CE",
      "huggingface",
      "liger",
      "foak (unsloth triton CE/RMSNorm/RoPE)",
      "foak (unsloth triton CE/RMSNorm/RoPE, fused LoRA)",
      "foak (unsloth triton CE/RMSNorm/RoPE) + liger fused-linear-CE instead of triton CE",
      "foak (unsloth triton CE/RMSNorm/RoPE, fused LoRA) + liger fused-linear-CE instead of triton "
      "CE"};
  // The kernels of the quantized layers follow from the quantization.
  std::string_view kernels = run.kernels;
  constexpr std::string_view kGptqKernels = "triton_v2 GPTQ";
  if (kernels.ends_with(kGptqKernels)) kernels.remove_suffix(kGptqKernels.size());
  if (kernels.ends_with(" + ")) kernels.remove_suffix(3);
  if (!IsOneOf(kernels, kKnown)) return "kernels " + run.kernels;
  const Node* compile = run.settings.Find("compile");
  if (compile != nullptr && compile->boolean) return "kernels torch.compile";
  return std::nullopt;
}

Reason Batch(const Run& run) {
  if (!run.micro_batch) return "micro-batch not stated";
  if (!run.length) return "sequence length not stated";
  return std::nullopt;
}

// In the order in which the reasons are named: what rules out most comes first.
constexpr std::array kRules = {Kind,     Framework, Method,  Quantization, Adapters, Megatron,
                               Parallel, Offload,   Numbers, Kernels,      Batch};

}  // namespace

spec::Sharding ShardingOf(const Run& run) {
  const bool is_alone = run.gpus.value_or(1) <= 1;
  const FrameworkMatch match = MatchFramework(run.framework);
  if (!is_alone && run.parallel.Find("fsdp") != nullptr) {
    if (WithoutRemark(run.parallel.Find("fsdp")->text) == "no_shard") return spec::Sharding::kDdp;
    if (Setting(run, "fsdp") == "FSDP1") return spec::Sharding::kFsdp1;
    if (run.parallel.Find("fsdp")->text.ends_with("(FSDP2)")) return spec::Sharding::kFsdp2;
    return match.known != nullptr ? match.known->fsdp : spec::Sharding::kFsdp1;
  }
  if (!is_alone && match.spreader == Spreader::kFsdp1) return spec::Sharding::kFsdp1;
  constexpr std::array kStages = {spec::Sharding::kZero1, spec::Sharding::kZero2,
                                  spec::Sharding::kZero3};
  // DeepSpeed's optimizer works with one rank as well, with master weights and buckets.
  const std::int64_t stage = Degree(run, "zero");
  if (stage >= 1 && stage <= 3) return kStages.at(static_cast<std::size_t>(stage - 1));
  return is_alone ? spec::Sharding::kNone : spec::Sharding::kDdp;
}

std::string_view WithoutRemark(std::string_view text) { return text.substr(0, text.find(" (")); }

std::string_view AttentionOf(const Run& run) {
  const std::string_view word = WithoutRemark(run.attention);
  // The Triton kernel saves what flash-attention does: q, k, v, output, log-sum-exp.
  if (word == "flash") return "flash2";
  // scaled_dot_product_attention runs flash-attention 2 where no mask is given; transformers and
  // torch's own models reach it through sdpa unless told otherwise.
  return word.starts_with("sdpa/flash") || word.starts_with("sdpa-flash") ? "sdpa" : word;
}

std::optional<std::string> WhyNotSimulated(const Run& run) {
  for (const auto rule : kRules) {
    if (Reason reason = rule(run)) return reason;
  }
  return std::nullopt;
}

}  // namespace trainfit::validate
