// Which links join the GPUs of a machine.
#pragma once

#include "base/expected.h"
#include "catalog/catalog.h"
#include "spec/machine.h"

namespace trainfit::catalog {

// Fills in machine->fabric: what `offer` names, else what the card's record says. `offer` is null
// for bare GPUs. A bridge is an option that is bought, so that bare cards have none: they reach
// each other over PCIe. The network of bare GPUs is that of a machine with the same card, and the
// assumptions say which; without one it stays unknown.
// Errors: a link that is not in the catalogue.
Expected<spec::Fabric> JoinGpus(const Catalog& catalog, const spec::Offer* offer,
                                spec::Machine* machine);

}  // namespace trainfit::catalog
