#include "base/basis.h"

namespace trainfit {

std::string_view Name(Basis basis) {
  switch (basis) {
    case Basis::kExact:
      return "exact";
    case Basis::kSource:
      return "source";
    case Basis::kMeasured:
      return "measured";
    case Basis::kDatasheet:
      return "datasheet";
    case Basis::kDerived:
      return "derived";
    case Basis::kAssumed:
      return "assumed";
    case Basis::kGiven:
      return "given";
  }
  return "assumed";
}

}  // namespace trainfit
