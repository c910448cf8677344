// How a number was got. Every estimate and every fact carries one.
#pragma once

#include <string_view>

namespace trainfit {

enum class Basis {
  kExact,      // follows from shapes alone
  kSource,     // read in the source code of the software named
  kMeasured,   // somebody ran it
  kDatasheet,  // the vendor prints it
  kDerived,    // arithmetic on other facts
  kAssumed,    // a typical value; the range is wide for it
  kGiven,      // the user said so
};

std::string_view Name(Basis basis);

}  // namespace trainfit
