// A matrix product on tensor cores: tiles, waves over the multiprocessors, and what they read.
#pragma once

#include <cstdint>

#include "spec/dtype.h"
#include "time/card.h"

namespace trainfit::time {

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t groups = 1;  // products in one launch; m is the sum of all rows
  spec::Dtype dtype = spec::Dtype::kBf16;
  std::int64_t out_bytes = 2;  // of one element written
};

struct RoofTime {
  double compute = 0;  // seconds
  double memory = 0;
};

// Without the launch. Compute: an m × n output is cut into tiles of the sizes that cuBLAS and
// CUTLASS have kernels for; each multiprocessor works on one at a time, so that the last wave may
// be empty in part; a tile takes k + ramp steps at the card's rate, less for smaller tiles, which
// read more shared memory a step. Where tiles are few, k is split and the partial sums are added.
// The library's choice is taken to be the fastest. Not faster than the power limit allows. Memory:
// each matrix once.
RoofTime GemmTime(const GemmShape& shape, const Card& card);

}  // namespace trainfit::time
