// The parameters that one rank holds of a layer, of the embedding and of the head, as Megatron
// shapes them: query, key and value in one matrix, gate and up in one, split over tensor ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/tape.h"

namespace trainfit::frameworks::megatron {

struct Parameter {
  spec::Part part = spec::Part::kOther;
  bool is_bias = false;
  program::Shape shape;    // on this rank: out × in; experts one below the other
  bool is_expert = false;  // replicated over expert-data ranks instead of data ranks

  std::int64_t Elements() const { return shape.rows * shape.cols; }
};
using Parameters = std::vector<Parameter>;

Parameters LayerParameters(const plan::Plan& plan, const spec::LayerKind& kind);
// Word and position tables of the first stage.
Parameters EmbeddingParameters(const plan::Plan& plan);
// Final norm and output matrix of the last stage. A tied output matrix is a copy of the word table
// when the two are on different ranks, and nothing otherwise.
Parameters HeadParameters(const plan::Plan& plan);

// Rows of the word table on one rank: the vocabulary is padded to a multiple of 128 × tensor ranks
// (megatron/training/tokenizer: make_vocab_size_divisible_by).
std::int64_t VocabularyRows(const plan::Plan& plan);

// Matrices of Transformer Engine's linears; the router's, the tables and the output matrix are
// multiplied in the compute dtype (and so are, here, MLA's down projections).
bool MultipliesInFp8(const Parameter& parameter);

// The parameter with this part, or nullptr.
const Parameter* Find(const Parameters& parameters, spec::Part part, bool is_bias = false);

}  // namespace trainfit::frameworks::megatron
