// SwiGLU and GeGLU feed-forward blocks: LlamaMLP, Liger's kernel for act(gate) × up, and both run
// over tiles of the tokens (benchmark_swiglu.py, benchmark_geglu.py, benchmark_tiled_mlp.py).
#include <algorithm>

#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {
namespace {

using program::Role;
using program::Tape;
using program::Tensor;

struct Weights {
  Tensor gate;
  Tensor up;
  Tensor down;
};

Weights MakeWeights(Bench& bench, std::int64_t hidden, std::int64_t intermediate) {
  const spec::Dtype dtype = bench.question().dtype;
  return {bench.Leaf({intermediate, hidden}, dtype, true, "gate_proj"),
          bench.Leaf({intermediate, hidden}, dtype, true, "up_proj"),
          bench.Leaf({hidden, intermediate}, dtype, true, "down_proj")};
}

Tensor Mlp(Tape& tape, const Tensor& x, const Weights& w, bool is_fused) {
  const auto product = [&] {
    Tensor gate = program::Linear(tape, x, w.gate, {}, "gate");
    if (is_fused) {
      const Tensor up = program::Linear(tape, x, w.up, {}, "up");
      return program::FusedGatedActivation(tape, gate, up, "fused activation");
    }
    gate = program::Activate(tape, gate, "activation");
    return program::Multiply(tape, gate, program::Linear(tape, x, w.up, {}, "up"), "gate × up");
  };
  return program::Linear(tape, product(), w.down, {}, "down");
}

}  // namespace

void GatedMlp(Bench& bench) {
  const std::int64_t tokens = bench.Size("B", "bsz") * bench.Size("T");
  const std::int64_t hidden = bench.Size("hidden_size");
  const Weights w = MakeWeights(bench, hidden, bench.Size("intermediate_size"));
  const Tensor x = bench.Input({tokens, hidden}, bench.question().dtype, "x");
  Tape& tape = bench.tape();
  tape.set_retain_graph(true);
  const Tensor y = Mlp(tape, x, w, !bench.IsProvider("huggingface"));
  const Tensor gradient = tape.New({tokens, hidden}, y.dtype(), Role::kActivations, "dy");
  bench.Backward(y, gradient);
}

// liger_kernel/ops/tiled_mlp.py (after DeepSpeed's TiledMLP): forward without a graph, tile by
// tile, then torch.cat; backward repeats each tile with one, its gradients written into zeros.
void TiledMlp(Bench& bench) {
  const bool is_tiled = bench.IsProvider("liger_tiled") || bench.IsProvider("deepspeed_tiled");
  if (!is_tiled) return GatedMlp(bench);
  const std::int64_t tokens = bench.Size("bsz") * bench.Size("T");
  const std::int64_t hidden = bench.Size("hidden_size");
  const std::int64_t shards = std::max<std::int64_t>(1, bench.Size("num_shards"));
  const spec::Dtype dtype = bench.question().dtype;
  const Weights w = MakeWeights(bench, hidden, bench.Size("intermediate_size"));
  const Tensor x = bench.Leaf({tokens, hidden}, dtype, true, "x");
  Tape& tape = bench.tape();
  const bool is_fused = bench.IsProvider("liger_tiled");
  const Tensor shard = tape.DetachedView(x, {CeilDiv(tokens, shards), hidden});
  Tensor y;
  {
    const Tensor outputs = tape.New({tokens - shard.rows(), hidden}, dtype, Role::kActivations,
                                    "outputs of the tiles");
    tape.set_grad_enabled(false);
    const Tensor last = Mlp(tape, shard, w, is_fused);
    tape.set_grad_enabled(true);
    y = tape.New({tokens, hidden}, dtype, Role::kActivations, "y");
  }
  const Tensor gradient = tape.New({tokens, hidden}, dtype, Role::kActivations, "dy");
  const Tensor x_gradient = tape.New({tokens, hidden}, dtype, Role::kActivations, "dx");
  const Tensor output = Mlp(tape, shard, w, is_fused);
  bench.Backward(output, tape.DetachedView(gradient, {output.rows(), hidden}));
}

}  // namespace trainfit::frameworks::operators
