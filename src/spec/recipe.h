// A training recipe as a user states it: whatever is left open stays open here and is filled in by
// plan/ from the facts of the framework.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dtype.h"
#include "spec/zero.h"

namespace trainfit::spec {

enum class Method : std::uint8_t { kFull, kLora, kQlora };
enum class Precision : std::uint8_t {
  kFp32,       // fp32 weights, fp32 compute
  kBf16Mixed,  // fp32 weights under bf16 autocast
  kFp16Mixed,  // fp32 weights under fp16 autocast with a loss scaler
  kBf16Pure,   // bf16 weights, gradients and optimizer states
  kFp16Pure,
};
enum class Optimizer : std::uint8_t {
  kAdamW,
  kAdamW8bit,
  kPagedAdamW8bit,
  kPagedAdamW,
  kAdafactor,
  kLion,
  kSgd,
  kSgdMomentum
};
enum class OptimizerLoop : std::uint8_t { kFused, kForeach, kForLoop };
enum class Checkpointing : std::uint8_t { kNone, kFull };
enum class AttentionImplementation : std::uint8_t { kEager, kSdpa, kFlash2, kFlash3 };
enum class LossKernel : std::uint8_t {
  kPlain,               // the framework's own cross entropy on materialized logits
  kFusedLinear,         // Liger fused linear cross entropy: no logits
  kTritonCrossEntropy,  // in-place gradient on materialized logits (Unsloth, Liger CE, fms)
  kChunked,             // TRL chunked_nll
};
enum class Sharding : std::uint8_t { kNone, kDdp, kZero1, kZero2, kZero3, kFsdp1, kFsdp2 };

// Words as the command line and config files write them: "lora", "adamw-8bit", "flash2", …
std::string_view Name(Method method);
std::string_view Name(Precision precision);
std::string_view Name(Optimizer optimizer);
std::string_view Name(OptimizerLoop loop);
std::string_view Name(Checkpointing checkpointing);
std::string_view Name(AttentionImplementation attention);
std::string_view Name(LossKernel loss);
std::string_view Name(Sharding sharding);

struct LoraRecipe {
  std::int64_t rank = 16;
  double dropout = 0.0;
  // Suffixes of module names ("q_proj"), or the one word "all-linear".
  std::vector<std::string> targets = {"all-linear"};
  std::vector<std::string> modules_to_save;
  bool operator==(const LoraRecipe&) const = default;
};

struct Recipe {
  std::optional<Method> method;
  std::string framework;  // "" = the current Hugging Face stack
  std::string framework_version;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::optional<OptimizerLoop> optimizer_loop;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> gradient_accumulation;
  std::optional<std::int64_t> sequence_length;
  std::optional<Checkpointing> checkpointing;
  std::optional<AttentionImplementation> attention;
  std::optional<LossKernel> loss;
  std::optional<LoraRecipe> lora;
  std::optional<Sharding> sharding;
  ZeroRecipe zero;
  std::optional<Dtype> load_dtype;          // of the frozen base
  std::optional<bool> double_quantization;  // QLoRA
  std::optional<bool> kbit_preparation;     // peft prepare_model_for_kbit_training
  std::optional<bool> liger_kernels;        // fused RMSNorm, rotary, SwiGLU
  std::optional<bool> fused_activation;     // off: of liger_kernels, SwiGLU stays eager
  std::optional<Dtype> adapter_dtype;
  std::optional<bool> padding_free;  // packed sequences: no mask, one long row
};

}  // namespace trainfit::spec
