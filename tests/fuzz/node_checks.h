// What holds for whatever a reader of src/config makes of any bytes.
#pragma once

#include <cstddef>
#include <string>

#include "base/check.h"
#include "config/node.h"

namespace trainfit::fuzz {

// Every node lies inside its text and can say where. Returns the number of nodes.
inline std::size_t CheckNode(const config::Node& node) {
  CHECK(node.document != nullptr) << "a node of a text knows the text";
  const std::size_t size = node.document->text.size();
  CHECK(node.begin <= node.end && node.end <= size) << "a node lies inside its text";
  const SourceSpan span = node.Span();
  CHECK(span.line >= 1 && span.column >= 1 && span.length >= 0) << "a node stands somewhere";
  CHECK(span.source_start + span.source_line.size() + 1 >= static_cast<std::size_t>(span.column))
      << "the shown part of the line holds the column";
  std::size_t count = 1;
  for (const config::Node& item : node.items) count += CheckNode(item);
  for (const config::Member& member : node.members) {
    CHECK(member.key_begin <= member.key_end && member.key_end <= size)
        << "a key lies inside its text";
    CHECK(node.Find(member.key) == &member.value) << "keys are unique";
    count += CheckNode(member.value);
  }
  return count;
}

// Errors can be shown: not empty, and without a byte that could drive a terminal.
inline void CheckErrors(const Diagnostics& problems) {
  CHECK(!problems.empty()) << "an error says why";
  for (const Diagnostic& problem : problems) {
    CHECK(!problem.code.empty() && !problem.message.empty()) << "an error has code and message";
    const std::string text = RenderText(problem);
    CHECK(text.ends_with('\n')) << "rendered lines are ended";
    for (const char c : text) {
      CHECK(c == '\n' || static_cast<unsigned char>(c) >= ' ') << "control characters are escaped";
    }
  }
}

inline void CheckResult(const Expected<config::Node>& result) {
  if (result.has_value()) {
    CheckNode(*result);
  } else {
    CheckErrors(result.error());
  }
}

}  // namespace trainfit::fuzz
