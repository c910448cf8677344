// PEFT's adapter_config.json → PeftConfig.
#pragma once

#include "base/expected.h"
#include "config/node.h"
#include "spec/peft.h"

namespace trainfit::readers {

// Defaults are those of peft 0.21.2, tuners/*/config.py. Errors: kinds that are not known here, and
// settings of a wrong type.
Expected<spec::PeftConfig> ReadPeftConfig(const config::Node& root);

}  // namespace trainfit::readers
