// Which rows and columns of a table are shown, and in which order.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "report/listing.h"

namespace trainfit::api {

// True when the filter compares a column: "memory>=24".
bool IsComparison(std::string_view filter);

// Keeps the rows that match every filter. `words`: of each row, all that a bare word may be part
// of. Errors: unknown column, a number that is none.
Diagnostics KeepMatching(const std::vector<std::string>& filters,
                         const std::vector<std::string>& words, report::Listing* listing);

// Unknown values last; rows that are equal stay as they were.
Diagnostics SortBy(std::string_view sort, report::Listing* listing);

// The columns of these keys, the first one (the name) before them if it is not among them.
Diagnostics ShowColumns(const std::vector<std::string>& keys, report::Listing* listing);

}  // namespace trainfit::api
