// How tables of fact rows write versions and values.
#pragma once

#include <cstdint>

#include "plan/facts.h"

namespace trainfit::frameworks {

inline constexpr plan::Version kAny{};  // no bound

// An enumerator as the number that a fact row holds.
template <typename Enum>
constexpr std::int64_t ValueOf(Enum value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace trainfit::frameworks
