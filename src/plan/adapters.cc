#include "plan/adapters.h"

#include <algorithm>

namespace trainfit::plan {
namespace {

using Tensors = std::vector<AdapterTensor>;

// Kronecker factors: the first is small and dense; the second is factorized again when it is large
// (peft/tuners/lokr/layer.py update_layer: use_w2).
Tensors Lokr(std::int64_t rank, std::int64_t out, std::int64_t in) {
  const Factors rows = Factorize(out);
  const Factors cols = Factorize(in);
  Tensors tensors = {{rows.small, cols.small, "lokr_w1"}};
  if (2 * rank >= std::max(rows.large, cols.large)) {
    tensors.push_back({rows.large, cols.large, "lokr_w2"});
  } else {
    tensors.push_back({rows.large, rank, "lokr_w2_a"});
    tensors.push_back({rank, cols.large, "lokr_w2_b"});
  }
  return tensors;
}

}  // namespace

Factors Factorize(std::int64_t dimension) {
  Factors factors{1, dimension};
  for (std::int64_t small = 1; small * small <= dimension; ++small) {
    if (dimension % small == 0) factors = {small, dimension / small};
  }
  return factors;
}

Tensors AdapterTensors(spec::AdapterKind kind, std::int64_t rank, std::int64_t out, std::int64_t in,
                       bool is_feedforward) {
  switch (kind) {
    case spec::AdapterKind::kLora:
      return {{rank, in, "lora_A"}, {out, rank, "lora_B"}};
    case spec::AdapterKind::kDora:
      return {{rank, in, "lora_A"}, {out, rank, "lora_B"}, {1, out, "magnitude"}};
    case spec::AdapterKind::kAdalora:
      return {{rank, in, "lora_A"}, {rank, 1, "lora_E"}, {out, rank, "lora_B"}};
    case spec::AdapterKind::kIa3:
      return {{1, is_feedforward ? in : out, "ia3_l"}};
    case spec::AdapterKind::kLoha:
      return {{out, rank, "hada_w1_a"},
              {rank, in, "hada_w1_b"},
              {out, rank, "hada_w2_a"},
              {rank, in, "hada_w2_b"}};
    case spec::AdapterKind::kLokr:
      return Lokr(rank, out, in);
    case spec::AdapterKind::kFourierft:
      return {{1, rank, "spectrum"}};
  }
  return {};
}

}  // namespace trainfit::plan
