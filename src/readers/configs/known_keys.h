// data/dialects: every key that a tool's own classes have, with its default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace trainfit::readers {

// The lists of one file of data/dialects; see tools/known_keys.
class KnownKeys {
 public:
  explicit KnownKeys(const std::vector<std::string_view>& lists);
  bool empty() const { return lists_.empty(); }
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // True when `value` is what the tool takes anyway.
  bool IsDefault(std::string_view key, const config::Node& value) const;
  // The key that was probably meant; empty: none is near.
  std::string Nearest(std::string_view key) const;

 private:
  const config::Node* Find(std::string_view key) const;  // the list with its default, if known
  std::vector<config::Node> lists_;
};

// The text of data/dialects/NAME.json; empty: there is none. Written by the build.
std::string_view DialectData(std::string_view name);

}  // namespace trainfit::readers
