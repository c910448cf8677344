#include "spec/zero.h"

#include <array>

namespace trainfit::spec {

std::string_view Name(Offload offload) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "cpu", "nvme"};
  return kNames.at(static_cast<std::size_t>(offload));
}

}  // namespace trainfit::spec
