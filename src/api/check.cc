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
#include "report/numbers.h"

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
    // The launcher's own options stand in the same line as the script's.
    const bool is_launcher = file.syntax == readers::Syntax::kCommand && !file.dialect->IsTrainer();
    if (is_launcher && reading.files.size() > 1) continue;
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
  changes.reserve(edits.size());
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

Expected<verdict::Case> CaseOf(const ConfigReading& reading, const CheckRequest& request,
                               const catalog::Catalog& catalog, Diagnostics* warnings) {
  ModelQuery query = request.model;
  if (query.name.empty()) query.name = reading.model;
  if (query.name.empty()) {
    return Fail(Error("no-model", "the files name no model", "--model mistralai/Mistral-7B-v0.1"));
  }
  verdict::Case question;
  ASSIGN_OR_RETURN(question.model, FindModel(catalog, query, warnings));
  ASSIGN_OR_RETURN(question.machine, catalog::ParseHardware(catalog, request.on));
  ASSIGN_OR_RETURN(question.recipe,
                   readers::RecipeFor(reading, *question.model, question.machine.Gpus()));
  ASSIGN_OR_RETURN(question.facts, frameworks::FindFacts(question.recipe.framework,
                                                         question.recipe.framework_version));
  return question;
}

// The first change that is enough and that one file can say.
struct Fix {
  std::size_t file = 0;
  std::vector<readers::Edit> edits;
};
Expected<Fix> ChooseFix(const ConfigReading& reading, const verdict::Answer& answer,
                        const std::string& target) {
  if (answer.fit == verdict::Fit::kFits) {
    return Fail(Error("nothing-to-fix", "it fits as it is: nothing was written"));
  }
  for (const auto wanted : {verdict::Fit::kFits, verdict::Fit::kTight}) {
    for (const verdict::Remedy& remedy : answer.remedies) {
      if (remedy.fit != wanted) continue;
      Fix fix{0, readers::InOwnWords(reading, remedy.change)};
      if (fix.edits.empty()) continue;
      fix.file = fix.edits.front().file;
      bool is_one_file = true;
      for (const readers::Edit& edit : fix.edits) {
        is_one_file = is_one_file && reading.files[edit.file].path == reading.files[fix.file].path;
      }
      if (!is_one_file) continue;
      const std::string& path = reading.files[fix.file].path;
      bool is_other = false;  // another of the files that were read
      for (const readers::ReadFile& file : reading.files) {
        is_other = is_other || (file.path == target && target != path);
      }
      if (is_other) {
        return Fail(Error("other-file",
                          fmt::format("the change belongs into {}, not into {}", path, target),
                          "--fix " + path));
      }
      return fix;
    }
  }
  return Fail(Error("no-fix", "no single change of one file is enough; nothing was written"));
}

// The change is read again and judged before anything is written.
std::optional<Diagnostics> MakeFix(const CheckRequest& request, const ConfigReading& reading,
                                   const catalog::Catalog& catalog, Check& check) {
  auto fix = ChooseFix(reading, check.answer, request.fix);
  if (!fix.has_value()) return std::move(fix).error();
  auto text = readers::ApplyEdits(reading, fix->file, fix->edits);
  if (!text.has_value()) return std::move(text).error();
  const std::string& path = reading.files[fix->file].path;
  auto changed = readers::ReadConfigs(request.files, {{path, *text}});
  if (!changed.has_value()) return std::move(changed).error();
  auto question = CaseOf(*changed, request, catalog, nullptr);
  if (!question.has_value()) return std::move(question).error();
  auto answer = verdict::Judge(*question);
  if (!answer.has_value()) return std::move(answer).error();
  if (answer->fit == verdict::Fit::kDoesNotFit) {
    return Diagnostics{Error("no-fix",
                             "the change is not enough, judged in full; nothing was "
                             "written")};
  }
  check.written = ChangesOf(reading, fix->edits);
  check.written_to = request.fix;
  check.written_text = std::move(*text);
  check.written_fit =
      fmt::format("{}: needs {}", answer->fit == verdict::Fit::kFits ? "fits" : "is tight",
                  report::GiB(verdict::HighestGpu(*answer).bytes.point));
  return std::nullopt;
}

}  // namespace

Expected<Check> CheckFiles(const CheckRequest& request) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(request.catalog_files));
  ASSIGN_OR_RETURN(const ConfigReading reading, readers::ReadConfigs(request.files));
  Diagnostics warnings;
  ASSIGN_OR_RETURN(const verdict::Case question, CaseOf(reading, request, catalog, &warnings));
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
  if (!request.fix.empty()) {
    if (auto problems = MakeFix(request, reading, catalog, check))
      return Fail(std::move(*problems));
  }
  if (request.other_figure) {
    ASSIGN_OR_RETURN(check.difference,
                     verdict::ExplainDifference(question, check.answer, *request.other_figure));
  }
  return check;
}

}  // namespace trainfit::api
