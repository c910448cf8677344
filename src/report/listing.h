// Rows of the catalogue: one table, written as aligned text, JSON or CSV.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "report/options.h"

namespace trainfit::report {

// What a cell holds; monostate: unknown.
using ListValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct ListColumn {
  std::string key;    // "bandwidth": in --columns, --sort, filters, JSON and CSV
  std::string title;  // above the column: "GB/s"
  std::string about;  // "memory bandwidth, GB/s"
  int digits = -1;    // behind the point, in text; -1: as many as the number has
  bool is_price = false;
};

struct ListRow {
  std::vector<ListValue> values;  // one a column
  bool is_price_old = false;
};

struct Listing {
  std::string schema;  // "trainfit.gpus/1"
  std::string things;  // "GPUs"
  std::vector<ListColumn> columns;
  std::vector<std::size_t> shown;  // places in `columns`, in the order of text and CSV
  bool is_shown_chosen = false;    // by the user: JSON and CSV then have these alone
  std::vector<ListRow> rows;
  std::size_t known = 0;           // rows before filters
  std::vector<std::string> notes;  // what had to be assumed
};

void WriteListValue(const ListValue& value, JsonWriter* json);
// "3,350", "0.34", "yes"; "?" for what is not known.
std::string ListText(const ListColumn& column, const ListValue& value);

std::string ListingText(const Listing& listing, const TextOptions& options);
std::string ListingJson(const Listing& listing);
// Quoted as in RFC 4180, lines ended by a bare newline, the keys in the first one; what is not
// known is empty.
std::string ListingCsv(const Listing& listing);

}  // namespace trainfit::report
