// Which phase, rank class and place an answer's verdict comes from.
#pragma once

#include "verdict/verdict.h"

namespace trainfit::report {

// All null when the answer has no places.
struct DecidingPlace {
  const verdict::PhaseAnswer* phase = nullptr;
  const verdict::RankAnswer* rank = nullptr;
  const verdict::PlaceAnswer* place = nullptr;
};

// A place with the verdict of the whole answer; among equal ones a GPU before other places, then
// the one that fills its capacity most, then the earlier one.
DecidingPlace FindDecidingPlace(const verdict::Answer& answer);

}  // namespace trainfit::report
