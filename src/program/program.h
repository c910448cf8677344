// The program of a run: for each class of equal ranks, its phases in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

// The pieces that a pipeline schedule arranges. An exchange between stages stands where a rank
// sends; its neighbour's piece cannot begin before that has arrived.
struct MicroStep {
  const Segment* forward = nullptr;   // one micro-batch through one chunk of layers
  const Segment* backward = nullptr;  // with recomputation
};

enum class Schedule : std::uint8_t { kOneForwardOneBackward, kInterleaved, kAllForwardFirst };

// Where a rank stands in the pipeline, for whoever needs the time of a step rather than its memory:
// the step segments hold the same pieces in the order of this rank, without its idle time.
struct Pipeline {
  std::int64_t stages = 1;
  std::int64_t stage = 0;  // the first of the `alike` stages that this class stands for
  std::int64_t alike = 1;  // stages, counted from `stage`, with pieces of the same work
  std::int64_t micro_batches = 1;
  Schedule schedule = Schedule::kOneForwardOneBackward;
  std::vector<MicroStep> chunks;  // virtual stages of this rank, in the order of the model
  // After the last backward piece: gradients are reduced, the optimizer steps.
  const Segment* update = nullptr;
};

// Equal ranks, and what one of them does.
struct RankProgram {
  std::string role = "every rank";
  std::int64_t count = 1;
  std::vector<PhaseProgram> phases;
  std::optional<Pipeline> pipeline;  // of frameworks that run micro-batches through stages
};

struct Program {
  std::shared_ptr<SegmentStore> store = std::make_shared<SegmentStore>();
  std::vector<RankProgram> ranks;
  // What happens once, on the node of rank 0, beside what its ranks do: a download, the copy that
  // rank 0 alone loads or gathers. Host and disk alone; phases as those of the ranks.
  RankProgram node = {"rank 0", 1, {}};
};

}  // namespace trainfit::program
