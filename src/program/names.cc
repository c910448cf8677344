#include <array>

#include "program/event.h"
#include "program/program.h"

namespace trainfit::program {

std::string_view Name(Role role) {
  constexpr std::array<std::string_view, kRoleCount> kNames = {
      "weights",         "adapter weights", "quantization state", "master weights", "gradients",
      "optimizer state", "activations",     "checkpoints",        "logits",         "temporaries",
      "weight casts",    "communication",   "workspaces"};
  return kNames.at(static_cast<std::size_t>(role));
}

std::string_view Name(Place place) {
  constexpr std::array<std::string_view, kPlaceCount> kNames = {"gpu", "host", "pinned", "disk"};
  return kNames.at(static_cast<std::size_t>(place));
}

std::string_view Name(KernelClass kernel) {
  constexpr std::array<std::string_view, kKernelClassCount> kNames = {"matrix products",
                                                                      "attention forward",
                                                                      "attention backward",
                                                                      "element-wise",
                                                                      "reductions",
                                                                      "optimizer",
                                                                      "dequantization",
                                                                      "embedding",
                                                                      "collectives",
                                                                      "copies",
                                                                      "waits",
                                                                      "optimizer on the host",
                                                                      "host waits"};
  return kNames.at(static_cast<std::size_t>(kernel));
}

std::string_view Name(Phase phase) {
  constexpr std::array<std::string_view, 11> kNames = {
      "download", "preprocess", "load", "init",   "first_step", "steady_step",
      "evaluate", "generate",   "save", "resume", "merge"};
  return kNames.at(static_cast<std::size_t>(phase));
}

}  // namespace trainfit::program
