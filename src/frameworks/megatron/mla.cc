// Multi-head latent attention (megatron/core/transformer/multi_latent_attention.py).
#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using spec::Part;

// Down to the latent, norm, up to this rank's heads.
Tensor Query(const Module& module, const spec::LayerKind& kind, const Tensor& x) {
  Tape& tape = module.tape;
  if (kind.attention.query_rank == 0) {
    return ColumnLinear(tape, x, module.Weight(Part::kQuery), {},
                        module.AfterNorm(module.TensorSplit(), false), Label(Name(Part::kQuery)));
  }
  const auto latent = [&] {
    const Tensor down = ColumnLinear(tape, x, module.Weight(Part::kQueryDown), {}, module.NoSplit(),
                                     Label(Name(Part::kQueryDown)));
    return ApplyNorm(module, down, Part::kQueryDownNorm, kind.norm);
  };
  return ColumnLinear(tape, latent(), module.Weight(Part::kQueryUp), {}, module.TensorSplit(),
                      Label(Name(Part::kQueryUp)));
}

}  // namespace

Tensor ApplyLatentAttention(const Module& module, const spec::LayerKind& kind, const Tensor& x) {
  Tape& tape = module.tape;
  const spec::Attention& attention = kind.attention;
  const std::int64_t heads = attention.heads / module.plan.parallel.tensor;
  const std::int64_t rope = attention.rope_head_dim;
  const std::int64_t nope = attention.head_dim - rope;
  const auto attended = [&] {
    // The rotated part is turned and joined to the rest: a new tensor of the queries' size.
    Tensor query = Rotary(tape, Query(module, kind, x), "rotary of queries");
    Tensor key;
    Tensor value;
    {
      const Tensor down =
          ColumnLinear(tape, x, module.Weight(Part::kKeyValueDown), {},
                       module.AfterNorm(module.NoSplit(), false), Label(Name(Part::kKeyValueDown)));
      auto latents =
          program::SplitColumns(tape, down, {attention.kv_rank, rope, 0}, "split latent, rotary");
      const Split split = module.TensorSplit();
      Tensor positions = std::move(latents[1]);
      if (split.sequence) positions = GatherFromRanks(tape, positions, split, "rotary keys");
      const Tensor normed = ApplyNorm(module, latents[0], Part::kKeyValueDownNorm, kind.norm);
      latents = {};
      const Tensor up = ColumnLinear(tape, normed, module.Weight(Part::kKeyValueUp), {}, split,
                                     Label(Name(Part::kKeyValueUp)));
      const auto parts = program::SplitColumns(
          tape, up, {heads * nope, heads * attention.value_head_dim, 0}, "split k, v");
      // The rotary key is the same for every head.
      const Tensor turned =
          program::CopyColumns(tape, positions, heads * rope, "rotary keys of all heads");
      key = program::Concatenate(tape, parts[0], turned, "keys");
      value = program::CopyColumns(tape, parts[1], parts[1].cols(), "values");
    }
    return Attend(module, attention, std::move(query), std::move(key), std::move(value));
  };
  return RowLinear(tape, attended(), module.Weight(Part::kOutput), module.TensorSplit(),
                   Label(Name(Part::kOutput)));
}

}  // namespace trainfit::frameworks::megatron
