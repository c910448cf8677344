// One pipeline stage: its chunks of layers, what it receives and sends, and its whole step.
#pragma once

#include "plan/plan.h"
#include "program/program.h"

namespace trainfit::frameworks::megatron {

// The program of a rank of `stage`; role and count are the caller's.
program::RankProgram BuildStage(const plan::Plan& plan, std::int64_t stage,
                                program::SegmentStore& store);

}  // namespace trainfit::frameworks::megatron
