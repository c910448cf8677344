// What an unquoted YAML word means, decided as PyYAML does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/node.h"

namespace trainfit::config {

// A resolved scalar; the text itself stays with the caller.
struct YamlScalar {
  NodeKind kind = NodeKind::kString;
  bool boolean = false;
  std::int64_t integer = 0;  // kInt
  double real = 0;           // kInt and kDouble

  bool operator==(const YamlScalar&) const = default;
};

// YAML 1.1 with the regular expressions of PyYAML 6.0 (yaml/resolver.py), because the programs
// whose files we read use it: yes/no/on/off are booleans, 010 is 8, 1:30 is 90, but 1e-4 (without
// a point) and 1.5e5 (without a sign) are strings. Dates stay strings.
YamlScalar ResolveYamlScalar(std::string_view text);

// The value of a word that is tagged !!int, !!float, !!bool or !!null; nothing when it is none.
std::optional<YamlScalar> ResolveYamlScalarAs(NodeKind kind, std::string_view text);

}  // namespace trainfit::config
