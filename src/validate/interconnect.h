// The network between the nodes of a published run, from what its record says in words:
// "NVLink3/NVSwitch + 800 Gb/s per node (4x IB-HDR)", "NVLink + RoCE-1600Gbps/node".
#pragma once

#include <string_view>

#include "catalog/catalog.h"
#include "spec/machine.h"

namespace trainfit::validate {

// Sets machine->fabric.between_nodes where the words name a network: a generation of InfiniBand,
// EFA, or a rate of a port, a GPU or a node. Otherwise the fabric stays as it is.
void SetNetwork(std::string_view interconnect, const catalog::Catalog& catalog,
                spec::Machine* machine);

}  // namespace trainfit::validate
