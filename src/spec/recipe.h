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
// Where the scales of 8-bit products come from (transformer_engine/common/recipe): of the steps
// before; of the tensor as it is; one a block of 128; one for each 32 elements of a row.
enum class Fp8Scaling : std::uint8_t { kDelayed, kCurrent, kBlock, kMx };
struct Fp8 {
  Fp8Scaling scaling = Fp8Scaling::kDelayed;
  bool parameters = false;  // weights are stored in 8 bits, with fp32 masters (fp8_param_gather)
  bool operator==(const Fp8&) const = default;
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
// kSelective: of each layer only the modules of Recipe::recompute are run again.
// kPerOperator: of a recomputed block, the outputs of attention and of every other matrix product
// are kept (torchtitan's selective mode by operator).
enum class Checkpointing : std::uint8_t { kNone, kFull, kSelective, kPerOperator };
// kCudnn: cuDNN's fused attention through Transformer Engine.
enum class AttentionImplementation : std::uint8_t { kEager, kSdpa, kFlash2, kFlash3, kCudnn };
enum class LossKernel : std::uint8_t {
  kPlain,               // the framework's own cross entropy on materialized logits
  kFusedLinear,         // Liger fused linear cross entropy: no logits
  kTritonCrossEntropy,  // in-place gradient on materialized logits (Unsloth, Liger CE, fms)
  kChunked,             // TRL chunked_nll
  kCompiled,            // Megatron's native fusion: the plain formula under torch.compile
};
// How the frozen linear layers under adapters are stored.
enum class Quantization : std::uint8_t {
  kNf4,    // bitsandbytes, blocks of 64
  kFp4,    // the same with another code table
  kInt8,   // bitsandbytes LLM.int8
  kGptq4,  // groups of 128 along the input, order of activations kept
  kGptq8,
  kAwq4,
};
enum class Sharding : std::uint8_t { kNone, kDdp, kZero1, kZero2, kZero3, kFsdp1, kFsdp2 };

// Modules that selective checkpointing runs again, in Megatron's words.
enum class Recompute : std::uint8_t {
  kCoreAttention,  // scores, softmax, dropout and their product with the values
  kLayerNorm,
  kMlp,
  kMoe,
  kMoeActivation,
  kMlaUpProjection,
  kSharedExperts,
};
enum class AdapterKind : std::uint8_t;

// Words as the command line and config files write them: "lora", "adamw-8bit", "flash2", …
std::string_view Name(Method method);
std::string_view Name(Precision precision);
std::string_view Name(Optimizer optimizer);
std::string_view Name(OptimizerLoop loop);
std::string_view Name(Checkpointing checkpointing);
std::string_view Name(AttentionImplementation attention);
std::string_view Name(LossKernel loss);
std::string_view Name(Quantization quantization);
std::string_view Name(AdapterKind kind);
std::string_view Name(Sharding sharding);
std::string_view Name(Recompute recompute);

// PEFT's adapters on linear modules; rsLoRA and LoRA+ differ from LoRA in numbers alone.
enum class AdapterKind : std::uint8_t {
  kLora,
  kDora,
  kAdalora,
  kIa3,
  kLoha,
  kLokr,
  kFourierft,
};

struct LoraRecipe {
  AdapterKind kind = AdapterKind::kLora;
  std::int64_t rank = 16;  // AdaLoRA: init_r; FourierFT: n_frequency
  double dropout = 0.0;
  // Suffixes of module names ("q_proj"), or the one word "all-linear".
  std::vector<std::string> targets = {"all-linear"};
  std::vector<std::string> feedforward;  // IA³: modules whose input is scaled
  std::vector<std::string> modules_to_save;
  bool operator==(const LoraRecipe&) const = default;
};

// In which order a stage runs forward and backward passes; virtual stages make it interleaved.
enum class PipelineOrder : std::uint8_t { kOneForwardOneBackward, kAllForwardFirst };

// How one copy of the model is split over ranks, in Megatron's words. The number of copies follows
// from the machine.
struct Parallelism {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;  // chunks of layers a rank has: the interleaved schedule
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::optional<std::int64_t> expert_tensor;  // inside an expert; absent: as `tensor`
  std::optional<bool> sequence_parallel;
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  // Layers of the first and the last stage when they differ from the others'.
  std::optional<std::int64_t> first_stage_layers;
  std::optional<std::int64_t> last_stage_layers;
  bool operator==(const Parallelism&) const = default;
};

struct Recipe {
  std::optional<Method> method;
  std::string framework;  // "" = the current Hugging Face stack
  std::string framework_version;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::optional<OptimizerLoop> optimizer_loop;
  std::optional<bool> optimizer_in_backward;  // each weight is updated once its gradient is there
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> gradient_accumulation;
  std::optional<std::int64_t> sequence_length;
  std::optional<Checkpointing> checkpointing;
  std::optional<AttentionImplementation> attention;
  std::optional<LossKernel> loss;
  std::optional<std::int64_t> loss_pieces;  // of a row, for head and plain loss; 0: at once
  std::optional<LoraRecipe> lora;
  std::optional<Sharding> sharding;
  ZeroRecipe zero;
  std::optional<Dtype> load_dtype;             // of the frozen base
  std::optional<bool> reshard_after_forward;   // FSDP: off keeps whole weights until backward
  std::optional<bool> gradients_view_buckets;  // DDP's gradient_as_bucket_view
  std::optional<Dtype> reduce_dtype;  // in which shards of gradients are summed over the ranks
  std::optional<Quantization> quantization;  // QLoRA; nf4 when nothing is said
  std::optional<bool> double_quantization;   // QLoRA
  std::optional<bool> kbit_preparation;      // peft prepare_model_for_kbit_training
  std::optional<bool> liger_kernels;         // fused RMSNorm, rotary, SwiGLU
  std::optional<bool> fused_activation;      // off: of liger_kernels, SwiGLU stays eager
  std::optional<Dtype> adapter_dtype;
  std::optional<Parallelism> parallelism;        // of frameworks that split models themselves
  std::vector<Recompute> recompute;              // with Checkpointing::kSelective
  std::optional<std::int64_t> recompute_layers;  // of a stage, with kFull; absent: all
  std::optional<double> hidden_dropout;          // absent: the model's
  std::optional<double> attention_dropout;       // absent: the model's
  std::optional<Dtype> gradient_dtype;           // in which gradients are summed up
  std::optional<bool> fused_accumulation;        // weight gradients are added up inside the product
  std::optional<bool> overlap_reduce;            // gradients are reduced while backward runs
  std::optional<double> expert_imbalance;        // tokens of the busiest expert rank over the mean
  std::optional<bool> overlap_gather;            // parameters are gathered while forward runs
  std::optional<bool> padding_free;              // packed sequences: no mask, one long row
  bool first_flash = false;  // the kernels before flash-attention 2: version 1, its Triton port
  std::optional<Fp8> fp8;    // products of the layers' linears in 8 bits
};

}  // namespace trainfit::spec
