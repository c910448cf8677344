#include <algorithm>

#include "frameworks/huggingface/layer.h"
#include "frameworks/huggingface/model_facts.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Tensor;
using spec::AttentionImplementation;
using spec::Part;

struct Projections {
  Tensor query;
  Tensor key;
  Tensor value;
};

Projections Project(const Layer& layer, const spec::Attention& attention, const Tensor& x) {
  if (layer.frame.Find(Part::kQueryKeyValue) >= 0) {
    const Tensor fused = ApplyLinear(layer, x, Part::kQueryKeyValue);
    const std::int64_t q = attention.heads * attention.head_dim;
    const std::int64_t kv = attention.kv_heads * attention.head_dim;
    auto parts = program::SplitColumns(layer.tape, fused, {q, kv, kv}, "split q, k, v");
    return {std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
  }
  Projections p;
  p.query = ApplyLinear(layer, x, Part::kQuery);
  p.key = ApplyLinear(layer, x, Part::kKey);
  p.value = ApplyLinear(layer, x, Part::kValue);
  return p;
}

// A norm over each head (rows × heads, head_dim), or over the full width.
Tensor HeadNorm(const Layer& layer, const spec::LayerKind& kind, const Tensor& x, Part part,
                std::int64_t heads) {
  program::Tape& tape = layer.tape;
  if (kind.attention.qk_norm_full_width) return ApplyNorm(layer, x, part, kind.norm);
  const Tensor by_head = tape.View(x, {x.rows() * heads, x.cols() / heads});
  const Tensor normed = ApplyNorm(layer, by_head, part, kind.norm);
  return tape.View(normed, {x.rows(), x.cols()});
}

// Rotary on the first rotary_dim columns of each head; the rest is passed through and joined.
Tensor Rotate(const Layer& layer, const spec::Attention& attention, const Tensor& x,
              const Tensor& cos_sin, const char* label) {
  program::Tape& tape = layer.tape;
  if (layer.plan.liger_kernels) return program::RotaryFused(tape, x, label);
  if (layer.plan.facts.Is(plan::Fact::kRotaryInFp32)) {
    return program::RotaryInFp32(tape, x, label);
  }
  if (attention.rotary_dim >= attention.head_dim) {
    return program::RotaryEager(tape, x, cos_sin, label);
  }
  const std::int64_t rotated = x.cols() / attention.head_dim * attention.rotary_dim;
  const Tensor part = program::SliceColumns(tape, x, rotated, label);
  const Tensor pass = program::SliceColumns(tape, x, x.cols() - rotated, label);
  const Tensor turned = program::RotaryEager(tape, part, cos_sin, label);
  return program::Concatenate(tape, turned, pass, label);
}

program::AttentionShape ShapeOf(const Layer& layer, const spec::Attention& attention) {
  program::AttentionShape shape;
  shape.batch = layer.plan.micro_batch;
  shape.query_length = layer.plan.sequence_length;
  shape.key_length = layer.plan.sequence_length;
  shape.heads = attention.heads;
  shape.kv_heads = attention.kv_heads;
  shape.head_dim = attention.head_dim;
  shape.causal = attention.causal;
  shape.window = attention.window;
  shape.first_flash = layer.plan.first_flash;
  shape.asynchronous = layer.plan.attention == AttentionImplementation::kFlash3;
  return shape;
}

// Taken by value: the projections die before the output projection runs.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Tensor Attend(const Layer& layer, const spec::Attention& attention, Projections p) {
  program::Tape& tape = layer.tape;
  const program::AttentionShape shape = ShapeOf(layer, attention);
  const AttentionImplementation how = layer.plan.attention;
  const std::int64_t width = attention.heads * attention.head_dim;
  const bool is_grouped = attention.kv_heads < attention.heads;
  const bool is_flash =
      how == AttentionImplementation::kFlash2 || how == AttentionImplementation::kFlash3;
  const bool keeps_groups = (is_flash && !FlashRepeatsKeys(layer.plan)) ||
                            (how == AttentionImplementation::kSdpa && !NeedsMask(layer.plan) &&
                             layer.plan.facts.Is(plan::Fact::kSdpaGroupedQuery));
  // repeat_kv: expand + reshape, a copy of the queries' width.
  Tensor key = p.key;
  Tensor value = p.value;
  if (is_grouped && !keeps_groups) {
    key = program::CopyColumns(tape, p.key, width, "repeat_kv");
    value = program::CopyColumns(tape, p.value, width, "repeat_kv");
  }
  // Attention runs in the compute dtype: autocast casts what the rotary promoted to fp32.
  const Tensor query = program::Cast(tape, p.query, layer.plan.compute_dtype, "attention input");
  key = program::Cast(tape, key, layer.plan.compute_dtype, "attention input");
  value = program::Cast(tape, value, layer.plan.compute_dtype, "attention input");
  if (how == AttentionImplementation::kEager) {
    return program::EagerAttention(tape, query, key, value, shape, 0, "attention");
  }
  return program::FlashAttention(tape, query, key, value, shape, "attention");
}

}  // namespace

Tensor ApplyAttention(const Layer& layer, const spec::LayerKind& kind, const Tensor& x,
                      const Tensor& cos_sin) {
  const spec::Attention& attention = kind.attention;
  Projections p = Project(layer, attention, x);
  if (attention.qk_norm) {
    p.query = HeadNorm(layer, kind, p.query, Part::kQueryNorm, attention.heads);
    p.key = HeadNorm(layer, kind, p.key, Part::kKeyNorm, attention.kv_heads);
  }
  if (attention.rotary_dim > 0) {
    // apply_rotary_pos_emb returns both; the unrotated ones live until the caller rebinds them.
    Tensor query = Rotate(layer, attention, p.query, cos_sin, "rotary");
    Tensor key = Rotate(layer, attention, p.key, cos_sin, "rotary");
    p.query = std::move(query);
    p.key = std::move(key);
  }
  const Tensor out = Attend(layer, attention, std::move(p));
  return ApplyLinear(layer, out, Part::kOutput);
}

}  // namespace trainfit::frameworks::huggingface
