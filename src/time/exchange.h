// How long one exchange between ranks takes, with a range.
#pragma once

#include <string_view>

#include "base/units.h"
#include "program/event.h"
#include "time/link_path.h"

namespace trainfit::time {

struct Estimate {
  Seconds point;
  Seconds low;  // 90 % range
  Seconds high;
};

// Alone on its links. `bytes`: the whole buffer, as nccl-tests counts it
// (program::Operation::moved). Inside one island from curves that were measured on that link
// (collective_curves.h), or from those of the nearest link of its kind, scaled; between islands
// from NCCL's own model with the links' achieved rates. `card`: its id in the catalogue.
Estimate ExchangeSeconds(program::Collective collective, Bytes bytes, const LinkPath& path,
                         std::string_view card);

// The widest range, as factors of the point, of a large all-reduce on any of the paths in use; one
// and one where no group has several ranks.
struct Spread {
  double low = 1;
  double high = 1;
};
Spread WidestSpread(const LinkPaths& paths, std::string_view card);

}  // namespace trainfit::time
