// A model as a list of tensors with names, shapes and parts, grouped into stacks of layers.
//
// The typed description (attention, feed-forward, norms) tells a lowering which operations run; the
// tensors tell exactly what is stored. Both come from one reader per architecture family, so they
// cannot disagree. Equal layers are described once and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dtype.h"

namespace trainfit::spec {

// What a tensor is for inside its layer. Lowerings look tensors up by part, people by name.
enum class Part : std::uint8_t {
  kTokenEmbedding,
  kPositionEmbedding,
  kTypeEmbedding,
  kPatchEmbedding,
  kEmbeddingNorm,
  kQuery,
  kKey,
  kValue,
  kOutput,         // attention projections, one matrix each
  kQueryKeyValue,  // one fused matrix
  kQueryNorm,
  kKeyNorm,
  kSinks,
  kRelativeBias,
  kQueryDown,
  kQueryDownNorm,
  kQueryUp,  // MLA: latents and their norms
  kKeyValueDown,
  kKeyValueDownNorm,
  kKeyValueUp,
  kCrossQuery,
  kCrossKey,
  kCrossValue,
  kCrossOutput,
  kCrossNorm,
  kGate,
  kUp,
  kDown,    // gated MLP; a plain MLP has kUp and kDown
  kGateUp,  // one fused matrix
  kRouter,
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,  // `copies` = experts, or fused 3-D
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kSharedRouterGate,
  kInputNorm,
  kPostAttentionNorm,
  kPreMlpNorm,
  kPostMlpNorm,
  kMixer,  // state-space, linear attention, RWKV: any of its tensors
  kProjector,
  kFinalNorm,
  kHead,
  kPooler,
  kConvolution,
  kOther,
};

std::string_view Name(Part part);

struct TensorSpec {
  // Name as in the checkpoint, relative to the layer for tensors of a layer
  // ("self_attn.q_proj.weight"). "{e}" stands for the expert number when copies > 1.
  std::string name;
  std::vector<std::int64_t> shape;  // as stored, e.g. [out_features, in_features]
  Part part = Part::kOther;
  bool is_bias = false;
  // nn.Linear weight: what LoRA's "all-linear" and 4-bit quantization may replace.
  bool is_linear = false;
  bool is_transposed = false;  // stored [in_features, out_features], as GPT-2's Conv1D does
  std::int64_t copies = 1;     // equal tensors under this name, one an expert
  bool trainable = true;       // false: stored, never trained (Whisper's encoder positions)

  std::int64_t Elements() const;  // of all copies
  // Of a matrix, one copy: what it gives and takes.
  std::int64_t OutFeatures() const { return is_transposed ? shape.back() : shape.front(); }
  std::int64_t InFeatures() const { return is_transposed ? shape.front() : shape.back(); }
  bool operator==(const TensorSpec&) const = default;
};

enum class NormKind : std::uint8_t { kNone, kRms, kLayerNorm };
enum class Activation : std::uint8_t {
  kSilu,
  kGelu,
  kGeluTanh,
  kGeluNew,
  kQuickGelu,
  kRelu,
  kRelu2,
  kOther
};
std::string_view Name(Activation activation);
enum class Positions : std::uint8_t { kNone, kRotary, kLearned, kAlibi, kRelative };

enum class AttentionKind : std::uint8_t {
  kNone,     // no token mixing in this layer (or a mixer below)
  kSoftmax,  // multi-head, grouped or multi-query: heads ≥ kv_heads
  kLatent,   // MLA
  kMamba1,
  kMamba2,
  kGatedDelta,
  kRwkv,
};

struct Attention {
  AttentionKind kind = AttentionKind::kSoftmax;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;        // of queries and keys (MLA: nope + rope)
  std::int64_t value_head_dim = 0;  // equals head_dim except for MLA
  std::int64_t window = 0;          // tokens of a sliding or chunked window; 0: none
  bool causal = true;
  bool qk_norm = false;
  bool qk_norm_full_width = false;   // over heads × head_dim (OLMo-2) instead of head_dim (Qwen3)
  bool has_cross_attention = false;  // decoder layer that also attends to an encoder
  bool logit_softcap = false;        // Gemma-2: rules out the flash kernels of older stacks
  bool output_gate = false;          // Qwen3-Next: query projection is twice as wide
  std::int64_t rotary_dim = 0;       // 0: no rotary in this layer
  std::int64_t query_rank = 0;       // MLA: width of the query latent; 0: none
  std::int64_t kv_rank = 0;          // MLA: width of the key/value latent
  std::int64_t rope_head_dim = 0;    // MLA
  std::int64_t state_size = 0;       // SSM / linear attention: state, channels, groups, conv width
  std::int64_t inner_size = 0;
  std::int64_t groups = 0;
  std::int64_t conv_width = 0;

  bool operator==(const Attention&) const = default;
};

enum class MlpKind : std::uint8_t { kNone, kGated, kPlain, kMoe };

struct Mlp {
  MlpKind kind = MlpKind::kGated;
  Activation activation = Activation::kSilu;
  std::int64_t intermediate = 0;  // width of one expert for kMoe
  std::int64_t experts = 0;       // routed
  std::int64_t experts_per_token = 0;
  std::int64_t shared_intermediate = 0;  // total width of the always-on experts; 0: none
  bool expert_gated = true;

  bool operator==(const Mlp&) const = default;
};

// One kind of layer; `tensors` in the order of the module's parameters.
struct LayerKind {
  Attention attention;
  Mlp mlp;
  NormKind norm = NormKind::kRms;
  bool norm_has_weight = true;  // OLMo-1: none
  bool parallel = false;        // attention and MLP read the same residual stream (NeoX, Falcon)
  bool post_norms = false;      // Gemma-2/3, GLM-4: a norm after each sub-layer as well
  bool pre_norms = true;        // false: OLMo-2, BERT: only after
  bool fused_gate_up_storage = false;  // Phi-3: gate and up are views of one output
  std::vector<TensorSpec> tensors;

  bool operator==(const LayerKind&) const = default;
};

// `count` consecutive layers of one kind.
struct LayerRun {
  std::int32_t kind = 0;   // index into Stack::kinds
  std::int64_t first = 0;  // number of the first layer in the checkpoint's names
  std::int64_t count = 0;

  bool operator==(const LayerRun&) const = default;
};

enum class StackRole : std::uint8_t { kDecoder, kEncoder, kVision, kAudio, kUnet };

struct Stack {
  StackRole role = StackRole::kDecoder;
  std::string layer_prefix;  // "model.layers.{l}."
  std::int64_t hidden = 0;
  Positions positions = Positions::kRotary;
  NormKind final_norm = NormKind::kRms;
  std::vector<TensorSpec> before;  // embeddings and what precedes layer 0; full names
  std::vector<LayerKind> kinds;
  std::vector<LayerRun> runs;     // in order of execution
  std::vector<TensorSpec> after;  // final norm, projector, head; full names
  bool norm_adds_one = false;     // Gemma: RMSNorm multiplies by 1 + weight, in fp32
  double dropout = 0;             // residual and embedding dropout probability in training

  std::int64_t Layers() const;
  bool operator==(const Stack&) const = default;
};

struct ModelSpec {
  std::string id;  // hub id or path, as it is to be shown
  std::string model_type;
  std::string architecture;   // class name: "MistralForCausalLM"; empty: unknown
  std::vector<Stack> stacks;  // text decoder last; encoder and vision towers before it
  std::int64_t vocab = 0;     // rows of the output head, or of the token embedding
  bool tied_head = false;     // the head is the token embedding: stored once
  bool has_head = true;
  std::int64_t max_positions = 0;  // 0: not stated
  Dtype checkpoint_dtype = Dtype::kBf16;
  std::string checkpoint_quantization;  // "", "fp8", "mxfp4", "gptq", "awq", "bnb-4bit", …
  std::string license;
  std::string source;  // where the configuration comes from
  // Why no program can be built yet for this architecture; empty: it can.
  std::string not_simulated;

  const Stack& Text() const { return stacks.back(); }
  bool operator==(const ModelSpec&) const = default;
};

// Sum over all tensors, tied ones once.
std::int64_t ParameterCount(const ModelSpec& model);
// ParameterCount less the routed experts that one token does not use.
std::int64_t ActiveParameterCount(const ModelSpec& model);

}  // namespace trainfit::spec
