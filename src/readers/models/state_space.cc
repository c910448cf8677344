#include "readers/models/state_space.h"

#include <fmt/format.h>

namespace trainfit::readers {

using spec::Part;

std::vector<spec::TensorSpec> Mamba2Mixer(const Mamba2Shape& shape) {
  std::vector<spec::TensorSpec> tensors;
  TensorList list(&tensors);
  const auto name = [&](std::string_view leaf) { return fmt::format("{}.{}", shape.module, leaf); };
  const std::int64_t conv_width = shape.inner + Product(2 * shape.groups, shape.state);
  list.Parameter(name("dt_bias"), {shape.heads}, Part::kMixer);
  list.Parameter(name("A_log"), {shape.heads}, Part::kMixer);
  list.Parameter(name("D"), {shape.heads}, Part::kMixer);
  list.Convolution(name("conv1d"), {conv_width, 1, shape.conv}, shape.conv_bias, Part::kMixer);
  list.Linear(name("in_proj"), shape.hidden, shape.inner + conv_width + shape.heads, Part::kMixer,
              shape.bias);
  if (shape.norm) {
    list.Norm(name("norm"), shape.inner, spec::NormKind::kRms, false, Part::kMixer);
  }
  list.Linear(name("out_proj"), shape.inner, shape.hidden, Part::kMixer, shape.bias);
  return tensors;
}

spec::Attention Mamba2Attention(const Mamba2Shape& shape) {
  return {.kind = spec::AttentionKind::kMamba2,
          .heads = shape.heads,
          .kv_heads = 0,
          .state_size = shape.state,
          .inner_size = shape.inner,
          .groups = shape.groups,
          .conv_width = shape.conv};
}

}  // namespace trainfit::readers
