// How near to its peak rates a family of cards comes: data/calibration/*.json, made from
// measurements by tools/calibrate.cc. What each number does in a kernel's time is said in
// src/time/gemm.h, attention.h and kernel.h.
#pragma once

#include <string>

#include "base/basis.h"

namespace trainfit::spec {

struct AttentionRates {
  double share = 0.60;  // of the tensor-core peak, long sequences
  double ramp = 400;    // keys: what starting and ending a block of queries costs
  double tail = 0.5;    // of the longest block, at the end of a kernel
  bool operator==(const AttentionRates&) const = default;
};

struct KernelRates {
  std::string id;  // of the family: "hopper"
  Basis basis = Basis::kAssumed;
  double gemm = 0.85;             // of the tensor-core peak: whole waves of large tiles, deep K
  double gemm_ramp = 130;         // depth: what filling and draining a tile's pipeline costs
  double gemm_small_tile = 0.22;  // exponent of a tile's area: what smaller tiles lose
  double gemm_bandwidth = 0.75;   // of the datasheet's, matrix products that read more than compute
  double gemm_pj_per_flop = 0.9;  // what a FLOP of a matrix product draws: the power limit's share
  AttentionRates attention_forward;
  AttentionRates attention_backward = {.share = 0.47, .ramp = 400, .tail = 0.2};
  double bandwidth = 0.85;       // of the datasheet's, large element-wise kernels
  double launch_floor_us = 2.5;  // from the start of an empty kernel to that of the next one
  double sigma = 0.15;  // standard deviation of ln(measured / predicted) of a step's kernels
  bool operator==(const KernelRates&) const = default;
};

}  // namespace trainfit::spec
