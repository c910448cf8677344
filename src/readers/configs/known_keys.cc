#include "readers/configs/known_keys.h"

#include <utility>

#include "base/nearest_word.h"
#include "config/json_reader.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;

bool IsEqual(const Node& a, const Node& b) {
  if (a.IsNumber() && b.IsNumber()) return a.real == b.real;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case NodeKind::kNull:
      return true;
    case NodeKind::kBool:
      return a.boolean == b.boolean;
    case NodeKind::kString:
      return a.text == b.text;
    default:
      return false;
  }
}

}  // namespace

KnownKeys::KnownKeys(const std::vector<std::string_view>& lists) {
  for (const std::string_view name : lists) {
    auto root = config::ParseJson(std::string(name), std::string(DialectData(name)));
    if (!root.has_value()) continue;
    if (const Node* keys = root->Find("keys")) lists_.push_back(*keys);
  }
}

const Node* KnownKeys::Find(std::string_view key) const {
  for (const Node& list : lists_) {
    if (const Node* found = list.Find(key)) return found;
  }
  return nullptr;
}

bool KnownKeys::IsDefault(std::string_view key, const Node& value) const {
  const Node* entry = Find(key);
  return entry != nullptr && !entry->items.empty() && IsEqual(entry->items[0], value);
}

std::string KnownKeys::Nearest(std::string_view key) const {
  std::vector<std::string> words;
  for (const Node& list : lists_) {
    for (const config::Member& member : list.members) words.push_back(member.key);
  }
  return NearestWord(key, words);
}

}  // namespace trainfit::readers
