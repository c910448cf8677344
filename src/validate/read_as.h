// Training programs without fact rows of their own that run the kernels, and spread the model in
// the way, of one that has them.
#pragma once

#include <string_view>

namespace trainfit::validate {

struct ReadAs {
  std::string_view name;    // as records write it
  std::string_view as;      // name of a KnownFramework
  std::string_view reason;  // what is the same, and what is not
};

// nullptr: has fact rows, or is like none that has.
const ReadAs* FindReadAs(std::string_view name);

}  // namespace trainfit::validate
