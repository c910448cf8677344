#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "frameworks/builder.h"
#include "memory/segment_size.h"
#include "verdict/allocation_search.h"

namespace trainfit::verdict {
namespace {

using program::Event;
using program::Role;

struct Key {
  std::size_t phase;
  Role role;
  std::string_view label;
  std::int64_t bytes;
  bool operator<(const Key& other) const {
    return std::tie(phase, role, label, bytes) <
           std::tie(other.phase, other.role, other.label, other.bytes);
  }
};

struct Sighting {
  std::int64_t times = 0;
  std::int32_t first_frame = 0;
};

// Collects the allocations whose size the message can mean.
class Collector : public program::EventSink {
 public:
  explicit Collector(const OomQuestion& oom) : oom_(oom) {}

  void Begin(std::size_t phase) { phase_ = phase; }

  void OnEvent(const Event& event, const program::Segment& /*leaf*/) override {
    if (event.kind != program::EventKind::kAlloc || event.place != program::Place::kGpu) return;
    const Bytes counted = program::CountedBytes(event.place, event.bytes);
    const Bytes printed(memory::SegmentSize(counted.value()));
    if (printed < oom_.low || printed > oom_.high) return;
    Sighting& sighting = found_[{phase_, event.role, event.label, event.bytes.value()}];
    if (sighting.times++ == 0) sighting.first_frame = event.slot.frame;
  }

  const std::map<Key, Sighting>& found() const { return found_; }

 private:
  const OomQuestion& oom_;
  std::size_t phase_ = 0;
  std::map<Key, Sighting> found_;
};

OomCause CauseOf(Role role, std::string_view label) {
  switch (role) {
    case Role::kWeights:
    case Role::kAdapterWeights:
    case Role::kQuantizationState:
      return OomCause::kWeights;
    case Role::kMasterWeights:
    case Role::kGradients:
    case Role::kOptimizerState:
      return OomCause::kShare;
    case Role::kWeightCasts:
      return OomCause::kUpcast;
    case Role::kCommunication:
      return OomCause::kBucket;
    case Role::kLogits:
      return OomCause::kLogits;
    case Role::kActivations:
    case Role::kCheckpoints:
    case Role::kTemporary:
      return label.find("score") != std::string_view::npos ? OomCause::kScores
                                                           : OomCause::kActivations;
    case Role::kWorkspace:
      return OomCause::kOther;
  }
  return OomCause::kOther;
}

bool AgreesWith(program::Phase phase, Role role, std::string_view moment) {
  if (moment.empty()) return true;
  if (moment == "load") return phase == program::Phase::kLoad;
  if (moment == "init") return phase == program::Phase::kInit;
  const bool is_step = phase == program::Phase::kFirstStep || phase == program::Phase::kSteadyStep;
  if (!is_step) return false;
  if (moment == "loss") return role == Role::kLogits;
  if (moment == "optimizer step") {
    return role == Role::kOptimizerState || role == Role::kTemporary ||
           role == Role::kMasterWeights;
  }
  return role != Role::kOptimizerState;
}

}  // namespace

Expected<std::vector<FoundAllocation>> SearchProgram(const Case& question, const OomQuestion& oom) {
  ASSIGN_OR_RETURN(const plan::Plan plan, plan::ResolvePlan(question.recipe, question.model,
                                                            question.machine, question.facts));
  const program::Program program = frameworks::BuildProgram(plan);
  std::vector<FoundAllocation> result;
  if (program.ranks.empty()) return result;
  const program::RankProgram& rank = program.ranks.front();
  Collector collector(oom);
  for (std::size_t i = 0; i < rank.phases.size(); ++i) {
    collector.Begin(i);
    Walk(*rank.phases[i].segment, 0, collector);
  }
  const std::int64_t layers = plan.model->Text().Layers();
  for (const auto& [key, sighting] : collector.found()) {
    const program::Phase phase = rank.phases[key.phase].phase;
    FoundAllocation found;
    found.cause = CauseOf(key.role, key.label);
    found.what = std::string(key.label) + " (" + std::string(Name(key.role)) + ")";
    if (sighting.first_frame >= 1 && sighting.first_frame <= layers) {
      found.what += fmt::format(", first in layer {}", sighting.first_frame);
    }
    found.formula = fmt::format("{} bytes", key.bytes);
    found.phase = Name(phase);
    found.bytes = Bytes(key.bytes);
    found.times = sighting.times;
    found.is_from_program = true;
    found.fits_moment = AgreesWith(phase, key.role, oom.moment);
    found.rank = static_cast<int>(key.phase);
    result.push_back(std::move(found));
  }
  // The same tensor in the first and in every later step is one find.
  std::stable_sort(result.begin(), result.end(),
                   [](const FoundAllocation& a, const FoundAllocation& b) {
                     return std::tuple(!a.fits_moment, a.rank) < std::tuple(!b.fits_moment, b.rank);
                   });
  std::vector<FoundAllocation> unique;
  for (FoundAllocation& found : result) {
    const bool is_known = std::any_of(unique.begin(), unique.end(), [&](const auto& other) {
      return other.what == found.what && other.bytes == found.bytes;
    });
    if (!is_known) unique.push_back(std::move(found));
  }
  return unique;
}

}  // namespace trainfit::verdict
