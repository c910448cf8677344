// The order in which one stage runs forward and backward passes of its chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace trainfit::program {

// One pass of one micro-batch through one chunk. `place`: which of the chunk's sets of activations
// it fills or uses up; places are taken again once their backward pass is over.
struct Pass {
  bool is_forward = true;
  std::int32_t chunk = 0;
  std::int32_t place = 0;
  bool operator==(const Pass&) const = default;
};

// A whole step: `before`, `period` times `repeats`, `after`.
struct StageOrder {
  std::vector<Pass> before;
  std::vector<Pass> period;
  std::int64_t repeats = 0;
  std::vector<Pass> after;
};

// megatron/core/pipeline_parallel/schedules.py: forward_backward_no_pipelining,
// _pipelining_without_interleaving and _with_interleaving.
StageOrder OrderOf(const plan::Parallel& parallel, std::int64_t stage, std::int64_t micro_batches);

}  // namespace trainfit::program
