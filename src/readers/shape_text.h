// A model given by its shape instead of a name: "gpt:layers=30,hidden=3072,heads=32", "7B".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "spec/model.h"

namespace trainfit::readers {

// "FAMILY:key=value,…". FAMILY: gpt, or a model type; keys: kShapeKeys of shape_text.cc, or those
// of a config.json. A bare size ("7B", "350M") is no shape of this kind: listings filter by it.
bool IsShapeText(std::string_view text);

// The model; nullopt: `text` is neither a shape nor a bare size. What is assumed (a vocabulary, a
// width, the typical shape of a size) is said in `warnings`.
std::optional<Expected<spec::ModelSpec>> ReadShapeText(const std::string& text,
                                                       Diagnostics* warnings);

}  // namespace trainfit::readers
