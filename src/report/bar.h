// Bars made of eighths of a cell.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "report/style.h"

namespace trainfit::report {

// `fraction` of `cells` cells, rounded to an eighth; something above nothing shows at least ▏.
std::string Bar(double fraction, int cells);

// What is needed against what is there, on one scale.
struct Gauge {
  std::vector<Bytes> parts;  // in order, their sum is the point estimate
  Bytes high;                // upper end of the range
  Bytes capacity;
};

// Two lines of `cells` columns behind `indent` spaces: the bar with parts in their colours (▒ where
// they are above the capacity), the range up to `high` as ░, free room as ·; then a mark under the
// end of the capacity with its label.
std::string GaugeText(const Gauge& gauge, const std::string& label, int indent, int cells,
                      const Style& style);

}  // namespace trainfit::report
