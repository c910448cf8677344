#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {

using spec::Part;

Tensor ApplyMlp(const Module& module, const spec::LayerKind& kind, const Tensor& x) {
  if (kind.mlp.kind == spec::MlpKind::kMoe) return ApplyMoe(module, kind, x);
  Tape& tape = module.tape;
  const Split split = module.TensorSplit();
  const auto activated = [&] {
    const Tensor up =
        ColumnLinear(tape, x, module.Weight(Part::kUp), module.Weight(Part::kUp, true),
                     module.AfterNorm(split, true), Label(Name(Part::kUp)));
    if (kind.mlp.kind == spec::MlpKind::kGated) return GatedActivation(tape, up, "swiglu");
    return program::Activate(tape, up, Label(Name(kind.mlp.activation)));
  };
  return RowLinear(tape, activated(), module.Weight(Part::kDown), split, Label(Name(Part::kDown)));
}

}  // namespace trainfit::frameworks::megatron
