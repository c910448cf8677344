// The few functions that apps and bindings call. Everything they return is a plain value.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "spec/recipe.h"
#include "verdict/survey.h"
#include "verdict/verdict.h"

namespace trainfit::api {

// A model as a user names it: catalogue name, hub id, path of a config.json or of its folder.
// `hf_cache`: the Hugging Face hub cache to look hub ids up in ("" = do not look); from
// HF_HUB_CACHE, HF_HOME or ~/.cache/huggingface/hub, resolved by the app.
struct ModelQuery {
  std::string name;
  std::string hf_cache;
};

struct FitRequest {
  ModelQuery model;
  std::string on;  // hardware notation: "rtx-4090", "8xA100-80", "aws-p4d.24xlarge"
  spec::Recipe recipe;
  // The user's own catalogue files, the weakest first.
  std::vector<std::string> catalog_files;
  bool want_remedies = true;  // limits and remedies; off makes the answer a single evaluation
};

// One case in depth. Warnings of the readers are in Answer::warnings.
Expected<verdict::Answer> Fit(const FitRequest& request);

// The steady step of that case as a timeline, in Chrome's trace format (JSON). Errors: those of
// Fit, and links that are not known.
Expected<std::string> Trace(const FitRequest& request);

struct SurveyRequest {
  ModelQuery model;
  spec::Recipe recipe;  // batch, length and whatever else the user fixed for all methods
  std::vector<std::string> catalog_files;
};

// Methods × memory × smallest hardware × price.
Expected<verdict::Survey> Survey(const SurveyRequest& request);

}  // namespace trainfit::api
