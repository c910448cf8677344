// The Mamba-2 block, which its hybrids with attention share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

struct Mamba2Shape {
  std::string_view module = "mixer";
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t state = 0;
  std::int64_t conv = 0;
  bool conv_bias = true;
  bool bias = false;
  bool norm = true;  // the gated norm before the output
};

// All tensors of the block, their names below `module`.
std::vector<spec::TensorSpec> Mamba2Mixer(const Mamba2Shape& shape);
spec::Attention Mamba2Attention(const Mamba2Shape& shape);

}  // namespace trainfit::readers
