// A text that a person wrote, as one tree whose every node knows where it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "base/expected.h"

namespace trainfit::config {

struct Member;

enum class NodeKind { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

// The text of a file, shared by the nodes that point into it.
struct Document {
  std::string name;  // as the user wrote it
  std::string text;
};

// A value with its position. Plain and copyable; children are held by value.
struct Node {
  NodeKind kind = NodeKind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;     // kInt
  double real = 0;              // kDouble, and kInt as well (rounded)
  std::string text;             // kString: the value; numbers: as written
  std::vector<Node> items;      // kArray
  std::vector<Member> members;  // kObject, in the order of the file
  std::shared_ptr<const Document> document;
  std::uint32_t begin = 0;  // byte offsets into document->text
  std::uint32_t end = 0;

  // The member's value, or nullptr when absent (or when this is not an object).
  const Node* Find(std::string_view key) const;
  bool IsNumber() const { return kind == NodeKind::kInt || kind == NodeKind::kDouble; }
  // file:line:col of this node with its source line.
  SourceSpan Span() const;
};

struct Member {
  std::string key;
  std::uint32_t key_begin = 0;
  std::uint32_t key_end = 0;
  Node value;
};

std::string_view Name(NodeKind kind);  // "null", "a number", "a string", …

// Typed access with errors that name key, position, what was found and what was wanted.
// The *Or forms return the fallback when the key is absent or null, and fail on a wrong type.
Expected<std::int64_t> GetInt(const Node& object, std::string_view key, std::int64_t min,
                              std::int64_t max);
Expected<std::int64_t> GetIntOr(const Node& object, std::string_view key, std::int64_t min,
                                std::int64_t max, std::int64_t fallback);
Expected<double> GetDouble(const Node& object, std::string_view key, double min, double max);
Expected<double> GetDoubleOr(const Node& object, std::string_view key, double min, double max,
                             double fallback);
Expected<bool> GetBoolOr(const Node& object, std::string_view key, bool fallback);
Expected<std::string> GetString(const Node& object, std::string_view key);
Expected<std::string> GetStringOr(const Node& object, std::string_view key, std::string fallback);

}  // namespace trainfit::config
