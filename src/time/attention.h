// Fused attention on tensor cores: blocks of queries that go through their keys.
#pragma once

#include "program/event.h"
#include "spec/kernel_rates.h"
#include "time/card.h"

namespace trainfit::time {

// Seconds without the launch, of one launch of `operation`: flops and shape as recorded. Each block
// of 128 queries costs its keys and `ramp` more (loading the queries, the diagonal's masked half,
// the last rescaling); blocks are spread over the multiprocessors, and `tail` of a longest block is
// left for a part of them at the end (csrc/flash_attn/src/flash_fwd_kernel.h: one block of queries
// and one head a thread block).
double AttentionSeconds(const program::Operation& operation, const spec::AttentionRates& rates,
                        const Card& card);

}  // namespace trainfit::time
