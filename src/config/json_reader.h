// JSON text → Node tree.
#pragma once

#include <cstddef>
#include <string>

#include "base/expected.h"
#include "config/node.h"

namespace trainfit::config {

// What a reader accepts at most; beyond it, an error that names the limit.
struct ReadLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 100;
  std::size_t max_values = 2'000'000;  // nodes of the tree: small texts may hold many
  // JSON only: takes NaN, Infinity and -Infinity, which Python writes, as kDouble. GetDouble with
  // finite bounds then refuses them. (YAML has its own .nan and .inf.)
  bool allow_non_finite = false;
};

// Parses RFC 8259 JSON. Duplicate keys, NaN, Infinity, trailing commas, comments, text after the
// value, invalid UTF-8 and numbers too large for a double are errors with position, caret and, for
// the usual mistakes, a hint. A UTF-8 byte order mark is skipped. Never throws.
// `name` is how messages call the text (the path as the user wrote it).
Expected<Node> ParseJson(std::string name, std::string text, const ReadLimits& limits = {});

}  // namespace trainfit::config
