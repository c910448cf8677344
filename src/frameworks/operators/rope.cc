// Rotary embedding of q and k (benchmark_rope.py): transformers' apply_rotary_pos_emb, or Liger's
// kernel, which turns both in place. torch.autograd.grad, so that nothing is accumulated.
#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {

using program::Role;
using program::Shape;
using program::Tape;
using program::Tensor;

void Rope(Bench& bench) {
  const std::int64_t tokens = bench.Size("T", "seq_len");
  const std::int64_t hidden = bench.Size("H", "hidden_size");
  const std::int64_t heads = bench.Size("num_q_heads");
  const std::int64_t head_dim = hidden / heads;
  const Shape q_shape{tokens, hidden};
  const Shape k_shape{tokens, bench.Size("num_kv_heads") * head_dim};
  const spec::Dtype dtype = bench.question().dtype;
  const Tensor q = bench.LeafWithoutGradient(q_shape, dtype, true, "q");
  const Tensor k = bench.LeafWithoutGradient(k_shape, dtype, true, "k");
  const Tensor dq = bench.Leaf(q_shape, dtype, false, "dq");
  const Tensor dk = bench.Leaf(k_shape, dtype, false, "dk");
  const Tensor cos_sin = bench.Leaf({tokens, 2 * head_dim}, dtype, false, "cos, sin");
  Tape& tape = bench.tape();
  tape.set_retain_graph(true);
  if (bench.IsProvider("liger")) {
    const Tensor q_out = program::RotaryFused(tape, q, "q");
    const Tensor k_out = program::RotaryFused(tape, k, "k");
    tape.Seed(q_out, dq);
    bench.Backward(k_out, dk);
    return;
  }
  const Tensor q_out = program::RotaryEager(tape, q, cos_sin, "q");
  const Tensor k_out = program::RotaryEager(tape, k, cos_sin, "k");
  // The gradients are returned, not accumulated: k's is there while q's is made.
  const Tensor k_gradient = tape.New(k_shape, dtype, Role::kGradients, "gradient of k");
  tape.Seed(q_out, dq);
  bench.Backward(k_out, dk);
}

}  // namespace trainfit::frameworks::operators
