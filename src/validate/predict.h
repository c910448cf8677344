// The product's answer to a run, reduced to what a measurement can be compared with.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "validate/case_of.h"
#include "validate/record.h"
#include "verdict/verdict.h"

namespace trainfit::validate {

// What one phase says about one place, of the worst rank.
struct PlaceVerdict {
  std::string where;  // "steady_step/gpu"
  verdict::Fit fit = verdict::Fit::kUnknown;
  bool point_fits = true;
};

struct Prediction {
  std::string refused;                                   // why there is none; empty: there is one
  std::array<verdict::Estimate, kReadings> memory = {};  // highest over phases and ranks
  std::vector<PlaceVerdict> verdicts;
  verdict::Fit fit = verdict::Fit::kUnknown;  // of the GPU, over all phases
  bool point_fits = true;
  // Of the phase that needs most: its parts, its moment, and what the GPU can hold.
  std::string phase;
  std::string moment;
  std::vector<verdict::PartBytes> parts;
  std::string gpu;  // catalogue id; empty when it is not known
  std::optional<verdict::StepTime> time;
};

Prediction Predict(const Run& run, const catalog::Catalog& catalog, ModelFinder& models);

}  // namespace trainfit::validate
