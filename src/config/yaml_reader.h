// YAML text → Node tree.
#pragma once

#include <cstddef>
#include <string>

#include "base/expected.h"
#include "config/json_reader.h"
#include "config/node.h"

namespace trainfit::config {

// The largest text that is read, whatever the limits say: the parser takes about a second a MiB,
// and nobody writes that much by hand.
constexpr std::size_t kMaxYamlBytes = std::size_t{2} << 20;

// Parses one YAML document into the tree that ParseJson builds. Scalars mean what PyYAML says
// (yaml_scalar.h), `<<` merges as in PyYAML, an alias becomes a copy that points to where the value
// is written. Errors: repeated keys (PyYAML silently takes the last), keys that are no scalars,
// tags beyond the plain types, a second document, and aliases that expand beyond `limits`. An empty
// text is null. Never throws.
Expected<Node> ParseYaml(std::string name, std::string text, const ReadLimits& limits = {});

}  // namespace trainfit::config
