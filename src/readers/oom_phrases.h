// The words by which messages about memory, and the places of tracebacks, are known.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "readers/oom_message.h"

namespace trainfit::readers {

struct OomPhrase {
  std::string_view phrase;
  OomKind kind;
};
// The more specific first.
std::span<const OomPhrase> OomPhrases();

struct MomentPhrase {
  std::string_view phrase;
  OomMoment moment;
  std::size_t rank = 0;  // of two in one traceback the higher decides
};
std::span<const MomentPhrase> MomentPhrases();

}  // namespace trainfit::readers
