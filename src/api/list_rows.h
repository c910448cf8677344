// All records of one kind as rows, with what follows from several records: prices of cards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "catalog/catalog.h"
#include "report/date.h"
#include "report/listing.h"

namespace trainfit::api {

struct AllRows {
  report::Listing listing;
  std::vector<std::string> words;  // of each row, one name a line: what a filter's word looks in
};
Expected<AllRows> RowsOf(const catalog::Catalog& catalog, catalog::Kind kind,
                         const std::optional<report::Date>& today);

// One row of them.
Expected<report::ListRow> RowOf(const catalog::Catalog& catalog, catalog::Kind kind,
                                const std::string& id, const config::Node& record,
                                const std::optional<report::Date>& today);

}  // namespace trainfit::api
