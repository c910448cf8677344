// The matrix products of attention without a fused kernel: one for each head of each sequence, all
// of them in one launch.
#pragma once

#include <cstdint>

#include "program/tape.h"

namespace trainfit::program {

enum class AttentionProduct : std::uint8_t {
  kScores,      // q kᵀ, and gradient · vᵀ
  kValues,      // probabilities · v, and gradient of the scores · k
  kTransposed,  // probabilitiesᵀ · gradient, and gradient of the scoresᵀ · q
};

struct AttentionProducts {
  std::int64_t heads = 0;  // of all sequences
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 0;
  spec::Dtype dtype = spec::Dtype::kBf16;

  void Run(Tape& tape, const char* label, AttentionProduct product) const;
};

}  // namespace trainfit::program
