// The catalogue as tables, and one thing of it in full.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/api.h"
#include "base/expected.h"
#include "catalog/names.h"
#include "report/date.h"
#include "report/listing.h"
#include "report/sheet.h"
#include "spec/recipe.h"

namespace trainfit::api {

using catalog::Kind;

struct ListRequest {
  Kind kind = Kind::kGpu;
  // A word is a name, or a part of a name, maker, family, provider…; a word with <, <=, >, >=, =,
  // != compares a column: "memory>=24", "vendor=amd". A row has to match all of them.
  std::vector<std::string> filters;
  std::string sort;                  // a column's key, "-" before it for the largest first
  std::vector<std::string> columns;  // keys; empty: the usual ones
  std::string hf_cache;              // for models, as in ModelQuery
  std::vector<std::string> catalog_files;
  std::optional<report::Date> today;  // to flag old prices; unset: prices are not judged
  bool as_table = false;              // even of one thing; so do chosen columns
  bool with_tensors = false;          // of one model
  std::string adapter_file;           // PEFT's adapter_config.json for one model; empty: none
  spec::Recipe recipe;                // its method and LoRA: what they train of one model
};

// One word that names one thing gives its sheet; everything else a table.
using ListAnswer = std::variant<report::Listing, report::Sheet>;
Expected<ListAnswer> List(const ListRequest& request);

// The columns of a kind, for completion and help.
std::vector<report::ListColumn> ListColumns(Kind kind);

}  // namespace trainfit::api
