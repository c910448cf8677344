#include "api/check.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "api/answer_case.h"
#include "api/model_source.h"
#include "api/open_catalog.h"
#include "catalog/catalog.h"
#include "catalog/hardware.h"
#include "frameworks/registry.h"
#include "readers/configs/own_words.h"
#include "readers/configs/reading.h"

namespace trainfit::api {
namespace {

using readers::ConfigReading;

std::string PlaceText(const SourceSpan& span) {
  if (span.line == 0) return span.file;
  return fmt::format("{}:{}:{}", span.file, span.line, span.column);
}

// What is shown of a reading.
void Describe(const ConfigReading& reading, Check& check) {
  for (const readers::ReadFile& file : reading.files) {
    check.files.push_back({file.path, std::string(file.dialect->title)});
  }
  for (const readers::KeyUse& use : reading.keys) {
    check.keys.push_back(
        {PlaceText(use.span), use.key, use.value, std::string(readers::Name(use.fate)), use.note});
  }
  for (const readers::FilledIn& row : reading.filled_in) {
    check.filled_in.push_back({row.what, row.value, row.source});
  }
  check.warnings = reading.warnings;
}

std::vector<report::OwnChange> ChangesOf(const ConfigReading& reading,
                                         const std::vector<readers::Edit>& edits) {
  std::vector<report::OwnChange> changes;
  for (const readers::Edit& edit : edits) {
    changes.push_back({reading.files[edit.file].path, readers::EditText(reading, edit)});
  }
  return changes;
}

void CompareProcesses(const ConfigReading& reading, const spec::Machine& machine, Check& check) {
  if (!reading.processes || *reading.processes == machine.Gpus()) return;
  Diagnostic warning =
      Error("processes",
            fmt::format("the files start {} processes, {} has {} GPUs: answered for {}",
                        *reading.processes, machine.written_as, machine.Gpus(), machine.Gpus()));
  warning.severity = Severity::kWarning;
  warning.span.file = reading.files.empty() ? "" : reading.files[0].path;
  check.warnings.push_back(std::move(warning));
}

// A refusal of the sharding points to the line that asks for it.
tl::unexpected<Diagnostics> WithPlaces(const ConfigReading& reading, Diagnostics problems) {
  for (Diagnostic& problem : problems) {
    const bool is_sharding = problem.message.starts_with("sharding ");
    if (!is_sharding || reading.sharding_at.line == 0) continue;
    problem.span = reading.sharding_at;
    problem.suggestion.clear();  // an option of `fit`
  }
  return Fail(std::move(problems));
}

}  // namespace

Expected<Check> CheckFiles(const CheckRequest& request) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(request.catalog_files));
  ASSIGN_OR_RETURN(const ConfigReading reading, readers::ReadConfigs(request.files));
  ModelQuery query = request.model;
  if (query.name.empty()) query.name = reading.model;
  if (query.name.empty()) {
    return Fail(Error("no-model", "the files name no model", "--model mistralai/Mistral-7B-v0.1"));
  }
  Diagnostics warnings;
  verdict::Case question;
  ASSIGN_OR_RETURN(question.model, FindModel(catalog, query, &warnings));
  ASSIGN_OR_RETURN(question.machine, catalog::ParseHardware(catalog, request.on));
  ASSIGN_OR_RETURN(question.recipe,
                   readers::RecipeFor(reading, *question.model, question.machine.Gpus()));
  ASSIGN_OR_RETURN(question.facts, frameworks::FindFacts(question.recipe.framework,
                                                         question.recipe.framework_version));
  Check check;
  Expected<verdict::Answer> answer = AnswerCase(question, true, warnings);
  if (!answer.has_value()) return WithPlaces(reading, std::move(answer).error());
  check.answer = std::move(*answer);
  Describe(reading, check);
  CompareProcesses(reading, question.machine, check);
  for (const verdict::Remedy& remedy : check.answer.remedies) {
    check.remedies.push_back(
        {remedy, ChangesOf(reading, readers::InOwnWords(reading, remedy.change))});
  }
  return check;
}

}  // namespace trainfit::api
