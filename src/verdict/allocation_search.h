// Which tensor was it? The request of an out-of-memory message, looked for where it can come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "program/program.h"
#include "spec/model.h"
#include "verdict/judge.h"

namespace trainfit::verdict {

// What a request was most likely for; decides about the ways out.
enum class OomCause : std::uint8_t {
  kWeights,     // a matrix as it is loaded
  kUpcast,      // a copy of one in fp32
  kShare,       // one rank's share of all parameters: optimizer states, master weights
  kFlatBuffer,  // all parameters in one piece
  kBucket,      // DeepSpeed's buckets and sub-groups
  kLogits,
  kScores,  // attention scores
  kActivations,
  kOther,
};
std::string_view Name(OomCause cause);

struct FoundAllocation {
  OomCause cause = OomCause::kOther;
  std::string what;              // "logits in fp32"
  std::string formula;           // "8,192 tokens × 128,256 × 4 B"
  std::string phase;             // "load", "step"
  Bytes bytes;                   // as requested of the allocator
  std::int64_t times = 1;        // in one phase
  bool is_from_program = false;  // an allocation of the recorded program; otherwise of shapes alone
  bool fits_moment = true;       // agrees with what the traceback says
  int rank = 0;                  // lower is more likely, of equal moments
};

// The amount as the message prints it, and what else is known.
struct OomQuestion {
  Bytes low;
  Bytes high;
  bool is_gpu = true;  // printed as the caching allocator does, rounded up to its segments
  std::string_view
      moment;  // "load", "init", "forward", "loss", "backward", "optimizer step"; "": unknown
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> length;
};

// All allocations of the case's program of that size, most likely first.
Expected<std::vector<FoundAllocation>> SearchProgram(const Case& question, const OomQuestion& oom);

// Tensors of that size which a run of this model can have: matrices and copies of them, shares of
// all parameters, buckets, logits, activations and scores of round numbers of tokens.
std::vector<FoundAllocation> SearchShapes(const spec::ModelSpec* model, const OomQuestion& oom);

}  // namespace trainfit::verdict
