#include "api/listing.h"

#include <algorithm>
#include <utility>

#include "api/list_columns.h"
#include "api/list_rows.h"
#include "api/list_select.h"
#include "api/model_source.h"
#include "api/open_catalog.h"
#include "api/sheet_of.h"
#include "config/file_reader.h"
#include "plan/peft_tensors.h"
#include "readers/peft_config.h"

namespace trainfit::api {
namespace {

using catalog::Catalog;
using report::Listing;

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// How the name was taken, or that it could not be.
Expected<std::vector<std::string>> AssumptionsOf(const Catalog& catalog, Kind kind,
                                                 const std::string& name) {
  const auto assumptions = [](auto match) -> Expected<std::vector<std::string>> {
    if (!match.has_value()) return Fail(std::move(match).error());
    return std::move(match)->assumptions;
  };
  switch (kind) {
    case Kind::kGpu:
      return assumptions(catalog.FindGpu(name));
    case Kind::kInstance:
      return assumptions(catalog.FindInstance(name));
    case Kind::kLink:
      return assumptions(catalog.FindLink(name));
    case Kind::kModel:
      return assumptions(catalog.FindModel(name));
  }
  return std::vector<std::string>();
}

// Of a file of PEFT's, or LoRA as the options of a fit say it; none: the model itself is trained.
Expected<std::optional<spec::PeftConfig>> AdapterOf(const ListRequest& request) {
  if (!request.adapter_file.empty()) {
    ASSIGN_OR_RETURN(const config::Node file, config::ReadJsonFile(request.adapter_file));
    ASSIGN_OR_RETURN(spec::PeftConfig peft, readers::ReadPeftConfig(file));
    return std::optional(std::move(peft));
  }
  const bool is_full = request.recipe.method.value_or(spec::Method::kFull) == spec::Method::kFull;
  if (is_full && !request.recipe.lora.has_value()) return std::optional<spec::PeftConfig>();
  const spec::LoraRecipe lora = request.recipe.lora.value_or(spec::LoraRecipe());
  spec::PeftConfig peft;
  peft.rank = lora.rank;
  peft.targets.list = lora.targets;
  peft.modules_to_save = lora.modules_to_save;
  return std::optional(std::move(peft));
}

// A model of a file, of the hub's cache or of the catalogue.
Expected<report::Sheet> FindModelSheet(const Catalog& catalog, const ListRequest& request,
                                       const std::string& name) {
  Diagnostics warnings;
  ASSIGN_OR_RETURN(const auto model, FindModel(catalog, {name, request.hf_cache}, &warnings));
  std::vector<std::string> notes;
  for (const Diagnostic& warning : warnings) notes.push_back(warning.message);
  ASSIGN_OR_RETURN(const std::optional<spec::PeftConfig> peft, AdapterOf(request));
  std::optional<plan::PeftTensors> adapter;
  if (peft.has_value()) {
    ASSIGN_OR_RETURN(adapter, plan::ExpandPeft(*model, *peft));
  }
  const plan::PeftTensors* added = adapter.has_value() ? &*adapter : nullptr;
  const std::vector<std::string> ids = catalog.Meant(Kind::kModel, name);
  if (ids.size() != 1 || ids[0] != model->id) {
    return ModelSheet(*model, nullptr, notes, request.with_tensors, added);
  }
  ASSIGN_OR_RETURN(const config::Node record, catalog.Facts(Kind::kModel, ids[0]));
  ASSIGN_OR_RETURN(const std::vector<std::string> assumptions,
                   AssumptionsOf(catalog, Kind::kModel, name));
  notes.insert(notes.begin(), assumptions.begin(), assumptions.end());
  return ModelSheet(*model, &record, notes, request.with_tensors, added);
}

// Keeps the rows of these ids, and says what the name is taken to mean elsewhere.
void KeepIds(const Catalog& catalog, Kind kind, const std::string& name,
             const std::vector<std::string>& ids, Listing* listing) {
  std::erase_if(listing->rows, [&](const report::ListRow& row) {
    return std::find(ids.begin(), ids.end(), std::get<std::string>(row.values[0])) == ids.end();
  });
  const auto assumptions = AssumptionsOf(catalog, kind, name);
  if (assumptions) listing->notes = *assumptions;
}

Expected<ListAnswer> Table(const Catalog& catalog, const ListRequest& request,
                           const std::string& name, const std::vector<std::string>& meant) {
  ASSIGN_OR_RETURN(AllRows all, RowsOf(catalog, request.kind, request.today));
  Listing& listing = all.listing;
  Diagnostics errors;
  if (!meant.empty()) {
    KeepIds(catalog, request.kind, name, meant, &listing);
  } else {
    errors = KeepMatching(request.filters, all.words, &listing);
  }
  if (errors.empty()) errors = SortBy(request.sort, &listing);
  if (errors.empty()) errors = ShowColumns(request.columns, &listing);
  if (!errors.empty()) return Fail(std::move(errors));
  // A lone word that is in no name was meant as one: say which are near.
  if (listing.rows.empty() && request.filters.size() == 1 && !IsComparison(name)) {
    if (request.kind == Kind::kModel) {
      ASSIGN_OR_RETURN(report::Sheet sheet, FindModelSheet(catalog, request, name));
      return sheet;
    }
    ASSIGN_OR_RETURN(listing.notes, AssumptionsOf(catalog, request.kind, name));
  }
  return std::move(listing);
}

}  // namespace

Expected<ListAnswer> List(const ListRequest& request) {
  ASSIGN_OR_RETURN(const Catalog catalog, OpenCatalog(request.catalog_files));
  // "NVIDIA GeForce RTX 4090" may come as one word or as four.
  const std::string name = Joined(request.filters);
  const bool is_table = request.as_table || !request.columns.empty();
  const bool is_model_file =
      request.kind == Kind::kModel && request.filters.size() == 1 && IsModelFile(name);
  std::vector<std::string> meant;
  if (!name.empty()) meant = catalog.Meant(request.kind, name);
  if (is_model_file || (!is_table && request.kind == Kind::kModel && meant.size() == 1)) {
    ASSIGN_OR_RETURN(report::Sheet sheet, FindModelSheet(catalog, request, name));
    return sheet;
  }
  if (meant.size() == 1 && !is_table) {
    ASSIGN_OR_RETURN(const std::vector<std::string> assumptions,
                     AssumptionsOf(catalog, request.kind, name));
    ASSIGN_OR_RETURN(report::Sheet sheet,
                     SheetOf(catalog, request.kind, meant[0], assumptions, request.today));
    return sheet;
  }
  return Table(catalog, request, name, meant);
}

std::vector<report::ListColumn> ListColumns(Kind kind) {
  std::vector<report::ListColumn> columns;
  for (const ColumnSpec& column : ColumnsOf(kind)) {
    columns.push_back({column.key, column.title, column.about, column.digits, column.is_price});
  }
  return columns;
}

}  // namespace trainfit::api
