// The survey: methods of training one model against all cards of a catalogue.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/expected.h"
#include "verdict/survey.h"

namespace trainfit::verdict {

// A card that can be had, with the cheapest known way to get each number of them.
struct Candidate {
  spec::Gpu gpu;
  std::vector<spec::Offer> offers;  // with prices; any order
};

struct SurveyQuestion {
  spec::Recipe recipe;  // what the user fixed for all methods
  std::shared_ptr<const spec::ModelSpec> model;
  plan::FactTable facts;
  std::vector<Candidate> candidates;
};

// Errors: those of plan::ResolvePlan for every method (sizes out of range, not simulated).
Expected<Survey> SurveyMethods(const SurveyQuestion& question);

}  // namespace trainfit::verdict
