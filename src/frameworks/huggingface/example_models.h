// Models for the tests of lowerings, written out by hand.
#pragma once

#include <memory>

#include "spec/model.h"

namespace trainfit::frameworks::huggingface {

struct LlamaShape {
  std::int64_t layers = 32;
  std::int64_t hidden = 4096;
  std::int64_t intermediate = 14336;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t vocab = 128256;
};

// Llama-style: RMSNorm, rotary, grouped queries, gated MLP, untied. The default is Llama-3-8B.
inline std::shared_ptr<const spec::ModelSpec> LlamaStyle(const LlamaShape& shape = {}) {
  using spec::Part;
  const auto matrix = [](const char* name, std::int64_t out, std::int64_t in, Part part) {
    spec::TensorSpec tensor;
    tensor.name = name;
    tensor.shape = {out, in};
    tensor.part = part;
    tensor.is_linear = part != Part::kTokenEmbedding;
    return tensor;
  };
  const auto norm = [&](const char* name, Part part) {
    spec::TensorSpec tensor;
    tensor.name = name;
    tensor.shape = {shape.hidden};
    tensor.part = part;
    return tensor;
  };
  const std::int64_t a = shape.heads * shape.head_dim;
  const std::int64_t kv = shape.kv_heads * shape.head_dim;
  const std::int64_t h = shape.hidden;
  const std::int64_t i = shape.intermediate;

  spec::LayerKind kind;
  kind.attention.heads = shape.heads;
  kind.attention.kv_heads = shape.kv_heads;
  kind.attention.head_dim = shape.head_dim;
  kind.attention.value_head_dim = shape.head_dim;
  kind.attention.rotary_dim = shape.head_dim;
  kind.mlp.intermediate = i;
  kind.tensors = {matrix("self_attn.q_proj.weight", a, h, Part::kQuery),
                  matrix("self_attn.k_proj.weight", kv, h, Part::kKey),
                  matrix("self_attn.v_proj.weight", kv, h, Part::kValue),
                  matrix("self_attn.o_proj.weight", h, a, Part::kOutput),
                  matrix("mlp.gate_proj.weight", i, h, Part::kGate),
                  matrix("mlp.up_proj.weight", i, h, Part::kUp),
                  matrix("mlp.down_proj.weight", h, i, Part::kDown),
                  norm("input_layernorm.weight", Part::kInputNorm),
                  norm("post_attention_layernorm.weight", Part::kPreMlpNorm)};

  spec::Stack stack;
  stack.layer_prefix = "model.layers.{l}.";
  stack.hidden = h;
  stack.before = {matrix("model.embed_tokens.weight", shape.vocab, h, Part::kTokenEmbedding)};
  stack.kinds = {kind};
  stack.runs = {{0, 0, shape.layers}};
  stack.after = {norm("model.norm.weight", Part::kFinalNorm),
                 matrix("lm_head.weight", shape.vocab, h, Part::kHead)};

  auto model = std::make_shared<spec::ModelSpec>();
  model->id = "llama-style";
  model->vocab = shape.vocab;
  model->stacks = {stack};
  return model;
}

}  // namespace trainfit::frameworks::huggingface
