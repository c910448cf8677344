// `trainfit __manual`: the manual page in man(7) format, from the same tables as --help.
#pragma once

#include <string>

namespace trainfit::cli {

std::string ManualPage();

}  // namespace trainfit::cli
