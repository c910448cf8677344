// The places that the ranks of a node share: host RAM and disk.
#pragma once

#include <vector>

#include "memory/peak.h"
#include "memory/range.h"
#include "plan/plan.h"
#include "program/program.h"
#include "spec/machine.h"
#include "verdict/verdict.h"

namespace trainfit::verdict {

// The host (with its pinned part) and disk of the node that has most: that of rank 0. `ranks`: the
// phases of each rank class, read; `node`: what happens once. A phase that touches neither the host
// nor the disk gets no place. Each is added to the first rank of its phase.
void AddNodePlaces(const plan::Plan& plan, const spec::Machine& machine,
                   const std::vector<std::vector<memory::PhaseReading>>& ranks,
                   const program::RankProgram& node, Answer& answer);

// Bytes of one process on the host that are no tensors.
memory::OverheadRow ProcessBytes();

}  // namespace trainfit::verdict
