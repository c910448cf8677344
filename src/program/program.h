// The program of a run: for each class of equal ranks, its phases in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/segment.h"

namespace trainfit::program {

// A run is a short list of phases; a quarter of real failures happen outside the step.
enum class Phase : std::uint8_t {
  kDownload,
  kPreprocess,
  kLoad,
  kInit,
  kFirstStep,
  kSteadyStep,
  kEvaluate,
  kGenerate,
  kSave,
  kResume,
  kMerge,
};
std::string_view Name(Phase phase);

// What happens in one phase, starting from what the phases before it left behind.
struct PhaseProgram {
  Phase phase = Phase::kSteadyStep;
  const Segment* segment = nullptr;
};

// Equal ranks, and what one of them does.
struct RankProgram {
  std::string role = "every rank";
  std::int64_t count = 1;
  std::vector<PhaseProgram> phases;
};

struct Program {
  std::shared_ptr<SegmentStore> store = std::make_shared<SegmentStore>();
  std::vector<RankProgram> ranks;
};

}  // namespace trainfit::program
