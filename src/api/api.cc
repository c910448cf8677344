#include "api/api.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/answer_case.h"
#include "api/model_source.h"
#include "api/open_catalog.h"
#include "catalog/catalog.h"
#include "catalog/hardware.h"
#include "frameworks/builder.h"
#include "frameworks/registry.h"
#include "report/trace.h"
#include "time/trace.h"
#include "verdict/judge.h"
#include "verdict/survey_methods.h"

namespace trainfit::api {
namespace {

std::vector<std::string> Texts(const Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(diagnostic.message);
  return texts;
}

// Cards that can be rented: every card with a priced offer, and those that are only bought.
Expected<std::vector<verdict::Candidate>> Candidates(const catalog::Catalog& catalog) {
  ASSIGN_OR_RETURN(const std::vector<catalog::GpuRecord> gpus, catalog.ListGpus());
  ASSIGN_OR_RETURN(const std::vector<catalog::InstanceRecord> instances, catalog.ListInstances());
  std::vector<verdict::Candidate> candidates;
  for (const catalog::GpuRecord& record : gpus) {
    // The stack that is simulated runs on CUDA.
    if (record.gpu.vendor != "NVIDIA" || record.gpu.memory_usable == Bytes()) continue;
    verdict::Candidate candidate;
    candidate.gpu = record.gpu;
    for (const catalog::InstanceRecord& instance : instances) {
      const bool is_offer =
          instance.offer.gpu_id == record.gpu.id && instance.offer.price.has_value();
      if (is_offer) candidate.offers.push_back(instance.offer);
    }
    if (!candidate.offers.empty()) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

Expected<verdict::Case> CaseOf(const FitRequest& request, Diagnostics* warnings) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(request.catalog_files));
  verdict::Case question;
  question.recipe = request.recipe;
  ASSIGN_OR_RETURN(question.model, FindModel(catalog, request.model, warnings));
  ASSIGN_OR_RETURN(question.machine, catalog::ParseHardware(catalog, request.on));
  ASSIGN_OR_RETURN(question.facts, frameworks::FindFacts(request.recipe.framework,
                                                         request.recipe.framework_version));
  return question;
}

}  // namespace

Expected<verdict::Answer> Fit(const FitRequest& request) {
  Diagnostics warnings;
  ASSIGN_OR_RETURN(const verdict::Case question, CaseOf(request, &warnings));
  return AnswerCase(question, request.want_remedies, warnings);
}

Expected<std::string> Trace(const FitRequest& request) {
  Diagnostics warnings;
  ASSIGN_OR_RETURN(const verdict::Case question, CaseOf(request, &warnings));
  ASSIGN_OR_RETURN(const plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                            question.machine, question.facts));
  const program::Program program = frameworks::BuildProgram(plan);
  ASSIGN_OR_RETURN(const auto processes, time::TraceStep(program, plan, question.machine));
  return report::TraceJson(processes);
}

Expected<verdict::Survey> Survey(const SurveyRequest& request) {
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(request.catalog_files));
  Diagnostics warnings;
  verdict::SurveyQuestion question;
  question.recipe = request.recipe;
  ASSIGN_OR_RETURN(question.model, FindModel(catalog, request.model, &warnings));
  ASSIGN_OR_RETURN(question.facts, frameworks::FindFacts(request.recipe.framework,
                                                         request.recipe.framework_version));
  ASSIGN_OR_RETURN(question.candidates, Candidates(catalog));
  ASSIGN_OR_RETURN(verdict::Survey survey, verdict::SurveyMethods(question));
  for (std::string& text : Texts(warnings)) survey.warnings.push_back(std::move(text));
  return survey;
}

}  // namespace trainfit::api
