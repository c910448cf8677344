// A pipeline of stages: how long a step takes when each stage waits for its neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/units.h"
#include "program/schedule.h"

namespace trainfit::time {

// What one stage needs, by chunk of layers (virtual stage). Sending to the neighbour is a part of
// the pass that ends with it.
struct StageTimes {
  std::vector<Seconds> forward;
  std::vector<Seconds> backward;
  Seconds update;  // after the last backward pass: gradients are reduced, the optimizer steps
};

struct PipelineRun {
  Seconds total;  // to the end of the last stage's update
  // Of the stage that has most to do: passes and update, and the rest of `total`, the bubble.
  Seconds busy;
  Seconds idle;
  std::int64_t busiest = 0;
};

// One pass as it ran; times from the beginning of the step.
struct PassSpan {
  std::int64_t stage = 0;
  program::Pass pass;
  std::size_t micro_batch = 0;
  Seconds begin;
  Seconds end;
};
using PassSink = std::function<void(const PassSpan&)>;

// Runs the passes of all stages, in the order that each has. A forward pass begins when the one
// before it in the model is over for that micro-batch, a backward pass when the one after it is;
// chunk c + 1 of the first stage follows chunk c of the last. `stages` and `orders` have an element
// for each stage, and every stage the same number of chunks.
// For equal stages without virtual ones this is (micro-batches + stages - 1) · (forward + backward)
// + update (D. Narayanan et al., arXiv 2104.04473, section 2.2). `passes`, if given, receives each.
PipelineRun RunPipeline(std::span<const StageTimes> stages,
                        std::span<const program::StageOrder> orders, const PassSink& passes = {});

}  // namespace trainfit::time
