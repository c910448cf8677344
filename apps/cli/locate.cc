#include "cli/locate.h"

#include <algorithm>
#include <array>

namespace trainfit::cli {
namespace {

struct About {
  std::string_view code;
  std::string_view option;  // or kModelPlace
};
constexpr std::array<About, 14> kAbout = {{
    {"unknown-model", kModelPlace},
    {"ambiguous-model", kModelPlace},
    {"unknown-hardware", "on"},
    {"ambiguous-gpu", "on"},
    {"ambiguous-instance", "on"},
    {"empty-hardware", "on"},
    {"bad-count", "on"},
    {"wrong-memory-size", "on"},
    {"unknown-framework", "framework"},
    {"unknown-package", "framework"},
    {"bad-version", "framework"},
    {"no-lora-target", "lora-targets"},
    {"no-bf16", "precision"},
    {"no-kernel", "attention"},
}};

}  // namespace

Diagnostics Located(Diagnostics errors, const Request& request) {
  for (Diagnostic& error : errors) {
    if (!error.span.file.empty()) continue;
    const auto about = std::find_if(kAbout.begin(), kAbout.end(),
                                    [&](const About& a) { return a.code == error.code; });
    if (about == kAbout.end()) continue;
    const auto place = std::find_if(request.places.begin(), request.places.end(),
                                    [&](const Place& p) { return p.option == about->option; });
    if (place != request.places.end()) error.span = place->span;
  }
  return errors;
}

}  // namespace trainfit::cli
