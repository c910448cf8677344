#include <algorithm>

#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using spec::AttentionImplementation;
using spec::Part;

struct Projections {
  Tensor query;
  Tensor key;
  Tensor value;
};

program::AttentionShape ShapeOf(const plan::Plan& plan, const spec::Attention& attention) {
  program::AttentionShape shape;
  shape.batch = plan.micro_batch;
  shape.query_length = plan.sequence_length / plan.parallel.context;
  shape.key_length = shape.query_length;
  shape.heads = attention.heads / plan.parallel.tensor;
  shape.kv_heads = std::max<std::int64_t>(attention.kv_heads / plan.parallel.tensor, 1);
  shape.head_dim = attention.head_dim;
  shape.causal = attention.causal;
  shape.window = attention.window;
  shape.asynchronous = plan.attention == AttentionImplementation::kFlash3 ||
                       plan.attention == AttentionImplementation::kCudnn;
  return shape;
}

bool IsFlash(const plan::Plan& plan) {
  return plan.attention == AttentionImplementation::kFlash2 ||
         plan.attention == AttentionImplementation::kFlash3;
}

Tensor Copy(const Module& module, const Tensor& x, const char* label) {
  return program::CopyColumns(module.tape, x, x.cols(), label);
}

// The kernels of the flash-attn package want batch × sequence, Megatron has sequence × batch: with
// more than one sequence everything is copied on the way in, and the result on the way out
// (transformer_engine/pytorch/attention/dot_product_attention/backends.py FlashAttention.forward).
bool Transposes(const plan::Plan& plan) { return IsFlash(plan) && plan.micro_batch > 1; }

// Queries, keys and values that come as one matrix and need no rotation stay in it.
bool StaysFused(const plan::Plan& plan, const spec::Attention& attention) {
  return attention.heads == attention.kv_heads && attention.rotary_dim == 0 && !attention.qk_norm &&
         plan.attention != AttentionImplementation::kEager;
}

Tensor HeadNorm(const Module& module, const spec::LayerKind& kind, const Tensor& x, Part part) {
  const std::int64_t width = kind.attention.head_dim;
  const Tensor by_head = module.tape.View(x, {x.rows() * x.cols() / width, width});
  return module.tape.View(ApplyNorm(module, by_head, part, kind.norm), {x.rows(), x.cols()});
}

// Grouped queries are strided views that a reshape copies; keys and values that still lie in the
// common matrix are copied by the kernel's wrapper, which knows no such layout
// (megatron/core/transformer/attention.py get_query_key_value_tensors;
// transformer_engine dot_product_attention/utils.py get_qkv_layout).
Projections Separate(const Module& module, const spec::LayerKind& kind, const Tensor& fused) {
  Tape& tape = module.tape;
  const spec::Attention& attention = kind.attention;
  const std::int64_t heads = attention.heads / module.plan.parallel.tensor;
  const std::int64_t kv_heads = attention.kv_heads / module.plan.parallel.tensor;
  const std::int64_t q = heads * attention.head_dim;
  const std::int64_t kv = kv_heads * attention.head_dim;
  auto parts = program::SplitColumns(tape, fused, {q, kv, kv}, "split q, k, v");
  Projections p{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
  if (kv_heads < heads) p.query = Copy(module, p.query, "queries");
  if (attention.qk_norm) {
    p.query = HeadNorm(module, kind, p.query, Part::kQueryNorm);
    p.key = HeadNorm(module, kind, p.key, Part::kKeyNorm);
  }
  const bool is_kernel = module.plan.attention != AttentionImplementation::kEager;
  bool key_is_view = !attention.qk_norm;
  if (attention.rotary_dim > 0) {
    p.query = Rotary(tape, p.query, "rotary");
    p.key = Rotary(tape, p.key, "rotary");
    key_is_view = false;
  }
  if (is_kernel && !Transposes(module.plan)) {
    if (key_is_view) p.key = Copy(module, p.key, "keys");
    p.value = Copy(module, p.value, "values");
  }
  return p;
}

}  // namespace

// Taken by value: the projections die before the output projection runs.
Tensor Attend(const Module& module, const spec::Attention& attention, Tensor query, Tensor key,
              Tensor value) {
  Tape& tape = module.tape;
  const plan::Plan& plan = module.plan;
  const program::AttentionShape shape = ShapeOf(plan, attention);
  if (plan.attention == AttentionImplementation::kEager) {
    if (shape.kv_heads < shape.heads) {  // repeat_interleave
      const std::int64_t repeats = shape.heads / shape.kv_heads;
      key = program::CopyColumns(tape, key, key.cols() * repeats, "repeated keys");
      value = program::CopyColumns(tape, value, value.cols() * repeats, "repeated values");
    }
    const bool is_engine = plan.facts.Is(plan::Fact::kTransformerEngine);
    return CoreAttention(tape, query, key, value, shape,
                         {.dropout = plan.attention_dropout,
                          .recomputed = Recomputes(plan, spec::Recompute::kCoreAttention),
                          .own_buffer = is_engine || !plan.facts.Is(plan::Fact::kSharedBuffers)},
                         "attention");
  }
  if (Transposes(plan)) {
    query = Copy(module, query, "queries by sequence");
    key = Copy(module, key, "keys by sequence");
    value = Copy(module, value, "values by sequence");
  }
  const Tensor out = program::FlashAttention(tape, query, key, value, shape, "attention");
  return Transposes(plan) ? Copy(module, out, "attention output") : out;
}

Tensor ApplyAttention(const Module& module, const spec::LayerKind& kind, const Tensor& x) {
  if (kind.attention.kind == spec::AttentionKind::kLatent) {
    return ApplyLatentAttention(module, kind, x);
  }
  const Split split = module.TensorSplit();
  const char* label = Label(Name(Part::kQueryKeyValue));
  const auto attended = [&] {
    const auto project = [&] {
      return ColumnLinear(module.tape, x, module.Weight(Part::kQueryKeyValue),
                          module.Weight(Part::kQueryKeyValue, true), module.AfterNorm(split, true),
                          label);
    };
    if (StaysFused(module.plan, kind.attention)) {
      Tensor fused = project();
      if (Transposes(module.plan)) fused = Copy(module, fused, "q, k, v by sequence");
      const Tensor out =
          FusedQkvAttention(module.tape, fused, ShapeOf(module.plan, kind.attention), "attention");
      return Transposes(module.plan) ? Copy(module, out, "attention output") : out;
    }
    Projections p = Separate(module, kind, project());
    return Attend(module, kind.attention, std::move(p.query), std::move(p.key), std::move(p.value));
  };
  return RowLinear(module.tape, attended(), module.Weight(Part::kOutput), split,
                   Label(Name(Part::kOutput)));
}

}  // namespace trainfit::frameworks::megatron
