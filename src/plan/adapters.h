// The tensors that PEFT's adapters add to one linear module, by kind.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/recipe.h"

namespace trainfit::plan {

struct AdapterTensor {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const char* label = "";
};
inline constexpr int kMostAdapterTensors = 4;

// Of a module out × in, in the order in which PEFT creates them (peft/tuners/KIND/layer.py,
// update_layer). `rank`: r; AdaLoRA: init_r; FourierFT: n_frequency. `is_feedforward`: IA³ scales
// the input of such a module, the output of the others.
std::vector<AdapterTensor> AdapterTensors(spec::AdapterKind kind, std::int64_t rank,
                                          std::int64_t out, std::int64_t in, bool is_feedforward);

// peft/tuners/lokr/layer.py factorization(dimension, -1): the two divisors nearest to the root, the
// smaller one first.
struct Factors {
  std::int64_t small = 1;
  std::int64_t large = 1;
};
Factors Factorize(std::int64_t dimension);

}  // namespace trainfit::plan
