// Comma-separated text with a header line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace trainfit::catalog {

struct CsvRow {
  int line = 0;  // of the file, counted from 1
  std::vector<std::string> fields;
};

struct Csv {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  // The place of a column, or -1.
  int Find(std::string_view column) const;
};

// RFC 4180: fields in double quotes may hold commas, line breaks and doubled quotes. Empty lines
// are left out. Errors: no header, a quote that is not closed, a row of another width than the
// header; with `name`, the line and its text.
Expected<Csv> ParseCsv(const std::string& name, std::string_view text);

}  // namespace trainfit::catalog
