// Single operators as kernel libraries benchmark them: forward and backward of one operator on
// inputs of a given size, many times over, so that gradients of earlier iterations are there.
//
// The set is that of Liger-Kernel's benchmark/scripts, with the providers that those compare. Each
// family of operators is one file; what no file describes is refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/expected.h"
#include "plan/facts.h"
#include "program/program.h"
#include "spec/dtype.h"

namespace trainfit::frameworks::operators {

struct OperatorCase {
  std::string name;      // "rms_norm", "cross_entropy", …
  std::string provider;  // "liger", "huggingface", "torch", …
  plan::Version liger;   // of liger-kernel
  spec::Dtype dtype = spec::Dtype::kBf16;
  std::map<std::string, std::int64_t, std::less<>> sizes;  // as the script names them: "B", "T"
  std::int64_t multiprocessors = 0;                        // of the card; 0: not known
};

struct OperatorProgram {
  program::Program program;  // one rank, one phase
  int cublas_handles =
      0;  // threads that multiply matrices: none, the forward's, the backward's too
  bool is_compiled = false;  // part of it is a torch.compile graph, whose buffers no source states
};

// Errors: an operator or provider that is not described, a size that is missing; each is named.
Expected<OperatorProgram> BuildOperator(const OperatorCase& question);

}  // namespace trainfit::frameworks::operators
