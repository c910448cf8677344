// Hardware as people write it.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "config/node.h"
#include "spec/machine.h"

namespace trainfit::catalog {

// GPU, GPUSxGPU, NODESxGPUSxGPU, MACHINE or NODESxMACHINE:
//   rtx-4090   2xrtx-4090   8xA100-80   8x8xA100-80   aws-p4d.24xlarge   4xaws-p5.48xlarge
// "×", "*", a space or a colon at the end ("A100-80:8") do for the x. More than 16 GPUs without
// NODES are taken as nodes of 8 (GB200, GB300: of 4), and that is said. A machine that is sold a
// GPU at a time ("8xrunpod-secure-h100-sxm") is one node with that many. What a bare GPU's host has
// in memory, disk and price stays unknown.
Expected<spec::Machine> ParseHardware(const Catalog& catalog, std::string_view text);

// A machine of a file: an instance record as in data/instances/, of which only "gpu" is needed,
// with "nodes" beside it; "gpu" is a name or a whole GPU record.
Expected<spec::Machine> ReadMachine(const Catalog& catalog, const config::Node& file);

}  // namespace trainfit::catalog
