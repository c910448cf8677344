#include "api/listing.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace trainfit::cli {
namespace {

std::string TextOf(const api::ListAnswer& answer, const Request& request,
                   const Environment& environment) {
  if (const auto* sheet = std::get_if<report::Sheet>(&answer)) {
    return request.json ? sheet->json
                        : report::SheetText(*sheet, TextOptionsFor(request, environment));
  }
  const report::Listing& listing = std::get<report::Listing>(answer);
  if (request.json) return report::ListingJson(listing);
  if (request.csv) return report::ListingCsv(listing);
  return report::ListingText(listing, TextOptionsFor(request, environment));
}

// "--columns help": the keys with their meaning, one a line.
int PrintColumns(api::Kind kind) {
  std::string text;
  for (const report::ListColumn& column : api::ListColumns(kind)) {
    std::string line = column.key;
    line.append(line.size() < 22 ? 22 - line.size() : 1, ' ');
    text += line + column.title + (column.about.empty() ? "" : ": " + column.about) + "\n";
  }
  return PrintAnswer(text) ? kOk : kInternal;
}

int RunList(api::Kind kind, const Request& request, const Environment& environment) {
  if (request.columns.size() == 1 && request.columns[0] == "help") return PrintColumns(kind);
  if (request.json && request.csv) {
    return PrintErrors({Error("two-formats", "--json and --csv: one of them")});
  }
  api::ListRequest question;
  question.kind = kind;
  question.filters = request.words;
  question.sort = request.sort;
  question.columns = request.columns;
  question.hf_cache = environment.hf_cache;
  question.catalog_files = CatalogFiles(request, environment);
  question.today = environment.today;
  question.as_table = request.csv;
  question.with_tensors = request.tensors;
  question.adapter_file = request.adapter;
  question.recipe = request.recipe;
  const Expected<api::ListAnswer> answer = api::List(question);
  if (!answer) return PrintErrors(answer.error());
  if (request.csv && std::holds_alternative<report::Sheet>(*answer)) {
    return PrintErrors({Error("no-table", "a model of a file is no table", "--json")});
  }
  return PrintAnswer(TextOf(*answer, request, environment)) ? kOk : kInternal;
}

}  // namespace

int RunGpus(const Request& request, const Environment& environment) {
  return RunList(api::Kind::kGpu, request, environment);
}

int RunInstances(const Request& request, const Environment& environment) {
  return RunList(api::Kind::kInstance, request, environment);
}

int RunLinks(const Request& request, const Environment& environment) {
  return RunList(api::Kind::kLink, request, environment);
}

int RunModels(const Request& request, const Environment& environment) {
  return RunList(api::Kind::kModel, request, environment);
}

}  // namespace trainfit::cli
