// A file of data/calibration/ as plain values.
#pragma once

#include "base/expected.h"
#include "config/node.h"
#include "spec/kernel_rates.h"

namespace trainfit::catalog {

// Of what tools/calibrate.cc writes. Errors: a number that is missing or no number.
Expected<spec::KernelRates> ReadKernelRates(const config::Node& family);

}  // namespace trainfit::catalog
