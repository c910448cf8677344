// Models for the tests of the lowering, written out by hand.
#pragma once

#include <memory>

#include "spec/model.h"

namespace trainfit::frameworks::megatron {

struct GptShape {
  std::int64_t layers = 8;
  std::int64_t hidden = 1024;
  std::int64_t heads = 16;
  std::int64_t kv_heads = 16;
  std::int64_t ffn = 4096;
  std::int64_t vocab = 51200;
  std::int64_t positions = 1024;
  bool tied = true;
};

// GPT as Megatron builds it: LayerNorm, biases, learned positions, GELU.
inline std::shared_ptr<const spec::ModelSpec> Gpt(const GptShape& shape = {}) {
  using spec::Part;
  const auto tensor = [](std::vector<std::int64_t> sizes, Part part, bool is_bias = false) {
    spec::TensorSpec made;
    made.name = std::string(spec::Name(part));
    made.shape = std::move(sizes);
    made.part = part;
    made.is_bias = is_bias;
    return made;
  };
  const std::int64_t h = shape.hidden;
  const std::int64_t head_dim = h / shape.heads;
  const std::int64_t qkv = h + 2 * shape.kv_heads * head_dim;
  spec::LayerKind kind;
  kind.norm = spec::NormKind::kLayerNorm;
  kind.attention.heads = shape.heads;
  kind.attention.kv_heads = shape.kv_heads;
  kind.attention.head_dim = head_dim;
  kind.attention.value_head_dim = head_dim;
  kind.mlp.kind = spec::MlpKind::kPlain;
  kind.mlp.activation = spec::Activation::kGelu;
  kind.mlp.intermediate = shape.ffn;
  kind.tensors = {tensor({h}, Part::kInputNorm),          tensor({h}, Part::kInputNorm, true),
                  tensor({qkv, h}, Part::kQueryKeyValue), tensor({qkv}, Part::kQueryKeyValue, true),
                  tensor({h, h}, Part::kOutput),          tensor({h}, Part::kOutput, true),
                  tensor({h}, Part::kPreMlpNorm),         tensor({h}, Part::kPreMlpNorm, true),
                  tensor({shape.ffn, h}, Part::kUp),      tensor({shape.ffn}, Part::kUp, true),
                  tensor({h, shape.ffn}, Part::kDown),    tensor({h}, Part::kDown, true)};
  spec::Stack stack;
  stack.hidden = h;
  stack.positions = spec::Positions::kLearned;
  stack.final_norm = spec::NormKind::kLayerNorm;
  stack.dropout = 0.1;
  stack.before = {tensor({shape.vocab, h}, Part::kTokenEmbedding),
                  tensor({shape.positions, h}, Part::kPositionEmbedding)};
  stack.kinds = {kind};
  stack.runs = {{0, 0, shape.layers}};
  stack.after = {tensor({h}, Part::kFinalNorm), tensor({h}, Part::kFinalNorm, true)};
  if (!shape.tied) stack.after.push_back(tensor({shape.vocab, h}, Part::kHead));
  auto model = std::make_shared<spec::ModelSpec>();
  model->id = "gpt";
  model->vocab = shape.vocab;
  model->tied_head = shape.tied;
  model->max_positions = shape.positions;
  model->stacks = {stack};
  return model;
}

}  // namespace trainfit::frameworks::megatron
