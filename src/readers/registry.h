// Which builder reads which model_type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

using Builder = void (*)(ReadContext&);

// nullptr: unknown.
Builder FindBuilder(std::string_view model_type);

// All known model types, sorted.
std::vector<std::string> KnownModelTypes();

}  // namespace trainfit::readers
