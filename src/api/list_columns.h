// The columns that the catalogue has: most are keys of its records, some follow from several.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "catalog/names.h"
#include "config/node.h"
#include "report/listing.h"

namespace trainfit::api {

struct ColumnSpec {
  const char* key;
  const char* title;
  const char* about;  // empty when the title says it
  const char* path;   // "memory.printed_gb" of the record; empty: computed
  int digits = -1;
  bool is_usual = false;
  bool is_price = false;
};

std::span<const ColumnSpec> ColumnsOf(catalog::Kind kind);

// The value at a dotted path, or nullptr.
const config::Node* At(const config::Node& record, std::string_view path);
report::ListValue ValueOf(const config::Node* node);

// A row whose columns with a path are filled in.
class RowBuilder {
 public:
  RowBuilder(catalog::Kind kind, const config::Node& record);
  void Set(std::string_view key, report::ListValue value);
  // Unset when the key's value is no number.
  std::optional<double> Number(std::string_view key) const;
  report::ListRow Take() { return std::move(row_); }
  void MarkOld() { row_.is_price_old = true; }

 private:
  std::size_t Place(std::string_view key) const;
  std::span<const ColumnSpec> columns_;
  report::ListRow row_;
};

}  // namespace trainfit::api
