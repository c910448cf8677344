// A layer described by what it does and by the names of its parts, in the order in which the
// module registers them; EmitLayer turns that into named tensors.
//
// A family is then a table of names plus sizes: Llama's is
//   {kQuery, "self_attn.q_proj"}, {kKey, "self_attn.k_proj"}, …, {kInputNorm, "input_layernorm"}
// and the shape of a part follows from the part. A part that the described layer does not have (no
// query norm, no experts, no gate) is skipped, so one table serves a family's variants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/model.h"

namespace trainfit::readers {

struct NamedPart {
  spec::Part part;
  std::string_view name;  // of the module; of the tensor itself for sinks and correction biases
};

struct LayerPlan {
  spec::LayerKind kind;  // the typed description; EmitLayer fills in `tensors`
  std::int64_t hidden = 0;
  std::span<const NamedPart> parts;

  bool query_bias = false;
  bool key_bias = false;
  bool value_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;         // both sides of the MLP, or of every expert
  bool norm_bias = false;        // LayerNorm with a bias
  bool router_bias = false;      // a trained bias of the router's linear layer
  bool router_is_linear = true;  // false: the class holds a bare parameter
  bool latent_bias = false;      // MLA: of the down projections
  bool conv1d = false;           // GPT-2's Conv1D stores [in, out]
  bool has_key = true;    // false: keys and values of an earlier layer are used again (Gemma 4)
  bool has_value = true;  // false: the keys are the values
  bool fused_experts = false;           // experts are one 3-D parameter, no nn.Linear
  bool flat_experts = false;            // fused in two dimensions: [experts × width, hidden] (DBRX)
  bool expert_in_first = false;         // fused experts stored [experts, in, out]
  std::int64_t cross_hidden = 0;        // width of what cross-attention reads; 0: hidden
  std::int64_t router_rows = 0;         // 0: as many as experts (LongCat: zero experts too)
  std::int64_t dense_width = 0;         // a dense MLP beside the experts (LongCat); 0: none
  std::int64_t relative_buckets = 0;    // rows of a relative position bias of this layer (T5)
  std::vector<spec::TensorSpec> mixer;  // what stands where `parts` has kMixer
  spec::NormKind qk_norm_kind = spec::NormKind::kRms;
  bool qk_norm_per_head_weights = false;  // a weight for every head: [heads, head_dim]

  void SetAttentionBias(bool qkv, bool output) {
    query_bias = key_bias = value_bias = qkv;
    output_bias = output;
  }
};

// The plan's layer with its tensors.
spec::LayerKind EmitLayer(const LayerPlan& plan);

// Appends tensors to a list. Names are `module` + ".weight" and ".bias" unless said otherwise.
class TensorList {
 public:
  explicit TensorList(std::vector<spec::TensorSpec>* out) : out_(out) {}

  // nn.Linear; with `copies` > 1 the module's name has "{e}" in it.
  void Linear(std::string_view module, std::int64_t in, std::int64_t out, spec::Part part,
              bool bias = false, std::int64_t copies = 1);
  // GPT-2's Conv1D: a linear layer stored transposed.
  void Conv1d(std::string_view module, std::int64_t in, std::int64_t out, spec::Part part);
  void Embedding(std::string_view module, std::int64_t rows, std::int64_t width, spec::Part part);
  // Nothing for kNone or without weights; a bias for LayerNorm where `bias` says so.
  void Norm(std::string_view module, std::int64_t width, spec::NormKind kind, bool bias,
            spec::Part part);
  // A convolution's weight and bias.
  void Convolution(std::string_view module, std::vector<std::int64_t> shape, bool bias,
                   spec::Part part = spec::Part::kConvolution);
  // A parameter under its own name.
  spec::TensorSpec& Parameter(std::string name, std::vector<std::int64_t> shape, spec::Part part);

 private:
  std::vector<spec::TensorSpec>* out_;
};

// Product that stays at the largest number instead of overflowing.
std::int64_t Product(std::int64_t a, std::int64_t b);

}  // namespace trainfit::readers
