#include "memory/peak.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "memory/live_bytes.h"
#include "memory/pinned_allocator.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::EventKind;
using program::Phase;
using program::Place;
using program::Segment;

constexpr std::size_t Index(Place place) { return static_cast<std::size_t>(place); }

// The first slot of held allocations in the shared frame, above every range of program/event.h.
constexpr std::int32_t kHeldSlots = 1 << 28;

Bytes CountedSum(std::span<const HeldAllocation> held) {
  Bytes sum;
  for (const HeldAllocation& each : held) sum += CountedBytes(Place::kGpu, each.bytes);
  return sum;
}

// Levels of one phase that starts at `level`, after `held` bytes were added on the GPU.
PlaceLevels LevelsOf(const Segment& segment, const std::array<Bytes, program::kPlaceCount>& start,
                     Bytes held) {
  PlaceLevels levels;
  for (std::size_t place = 0; place < program::kPlaceCount; ++place) {
    const program::Extent& extent = segment.summary()[place];
    const Bytes base = place == Index(Place::kGpu) ? start[place] + held : start[place];
    levels[place] = {start[place], base + extent.peak, base + extent.net};
  }
  return levels;
}

// Calls `see(index, levels)` for each phase.
template <typename See>
void ForEachPhase(const program::RankProgram& rank, std::span<const HeldAllocation> held, See see) {
  std::array<Bytes, program::kPlaceCount> level = {};
  bool waiting = true;
  for (std::size_t i = 0; i < rank.phases.size(); ++i) {
    const bool first_compute = waiting && Computes(rank.phases[i].phase);
    waiting = waiting && !first_compute;
    const Bytes added = first_compute ? CountedSum(held) : Bytes();
    const PlaceLevels levels = LevelsOf(*rank.phases[i].segment, level, added);
    for (std::size_t place = 0; place < levels.size(); ++place) level[place] = levels[place].end;
    if (!see(i, levels)) return;
  }
}

// Both orders are total, so that equal programs give equal answers.
bool ByName(const Part& a, const Part& b) {
  return std::tie(a.role, a.label) < std::tie(b.role, b.label);
}
bool LargerFirst(const Part& a, const Part& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : ByName(a, b);
}

// Live tensors of `place` by role and label. Pinned bytes are host bytes as well.
std::vector<Part> PartsOf(std::span<const LiveTensor> tensors, Place place) {
  std::vector<Part> parts;  // sorted; some dozens of them
  const Part* last = nullptr;
  for (const LiveTensor& tensor : tensors) {
    const bool counts =
        tensor.place == place || (place == Place::kHost && tensor.place == Place::kPinned);
    if (!tensor.live || !counts) continue;
    if (last == nullptr || last->role != tensor.role || last->label.data() != tensor.label) {
      const Part key{tensor.role, tensor.label, Bytes(), 0};
      auto at = std::lower_bound(parts.begin(), parts.end(), key, ByName);
      if (at == parts.end() || ByName(key, *at)) at = parts.insert(at, key);
      last = &*at;
    }
    Part& part = parts[static_cast<std::size_t>(last - parts.data())];
    part.bytes += tensor.counted;
    ++part.tensors;
  }
  std::sort(parts.begin(), parts.end(), LargerFirst);
  return parts;
}

// The walk.

class Reader : public program::EventSink {
 public:
  explicit Reader(const ReadOptions& options) : options_(options), allocator_(options.allocator) {}

  PhaseReading Read(const program::PhaseProgram& phase, const PlaceLevels& levels, bool hold);
  void OnEvent(const Event& event, const Segment& leaf) override;

 private:
  void Begin(const program::PhaseProgram& phase, const PlaceLevels& levels);
  void Hold();
  void Allocate(const Event& event);
  void Free(const Event& event);
  void Run(const Event& event, const Segment& leaf);
  void Capture(Place place, const Event* event);
  void CaptureIfPeak(Place place, const Event& event);
  void AllocateBlock(const Event& event, LiveTensor& tensor);
  void Finish();

  const ReadOptions& options_;
  CachingAllocator allocator_;
  PinnedAllocator pinned_;
  LiveTensors tensors_;
  std::array<Bytes, program::kPlaceCount> level_ = {};
  bool replaying_ = true;  // false once memory ran out

  PhaseReading reading_;
  std::array<bool, program::kPlaceCount> captured_ = {};
  std::vector<std::string_view*> unnamed_;  // operations to be named by the next kernel
  std::vector<std::int32_t*> unplaced_;     // and the frames that it runs in
  std::string_view last_operation_;
  std::int64_t event_number_ = 0;
};

void Reader::Begin(const program::PhaseProgram& phase, const PlaceLevels& levels) {
  reading_ = PhaseReading();
  reading_.phase = phase.phase;
  for (std::size_t i = 0; i < levels.size(); ++i) reading_.places[i].levels = levels[i];
  captured_ = {};
  unnamed_.clear();
  unplaced_.clear();
  last_operation_ = {};
  event_number_ = 0;
  allocator_.ResetPeaks();
  pinned_.ResetPeak();
  if (options_.replay && replaying_) {
    reading_.gpu.emplace();
    reading_.gpu->reserved_start = allocator_.reserved();
    reading_.gpu->retries = -allocator_.retries();  // made a difference in Finish
  }
}

PhaseReading Reader::Read(const program::PhaseProgram& phase, const PlaceLevels& levels,
                          bool hold) {
  Begin(phase, levels);
  if (hold) Hold();
  // A phase that never rises above its start has its peak there.
  for (std::size_t i = 0; i < level_.size(); ++i) {
    if (!captured_[i] && level_[i] == levels[i].peak) Capture(static_cast<Place>(i), nullptr);
  }
  Walk(*phase.segment, 0, *this);
  Finish();
  return std::move(reading_);
}

// cuBLAS workspaces: allocations that no program contains.
void Reader::Hold() {
  for (const Event& event : HeldEvents(options_.held)) {
    LiveTensor& tensor = tensors_.Insert(event);
    tensor.counted = CountedBytes(event.place, event.bytes);
    level_[Index(Place::kGpu)] += tensor.counted;
    AllocateBlock(event, tensor);
  }
}

void Reader::OnEvent(const Event& event, const Segment& leaf) {
  switch (event.kind) {
    case EventKind::kAlloc:
      Allocate(event);
      break;
    case EventKind::kFree:
      Free(event);
      break;
    case EventKind::kMove:
      tensors_.Move(event);
      break;
    case EventKind::kRun:
      Run(event, leaf);
      break;
    case EventKind::kEmptyCache:
      if (reading_.gpu && replaying_) allocator_.EmptyCache();
      break;
  }
  ++event_number_;
}

void Reader::AllocateBlock(const Event& event, LiveTensor& tensor) {
  if (!reading_.gpu || !replaying_) return;
  tensor.block = allocator_.Allocate(event.bytes, event.stream);
  if (tensor.block != CachingAllocator::kOutOfMemory) return;
  // From here on the real run is over; the levels are still read, reserved bytes no longer.
  replaying_ = false;
  OutOfMemory& oom = reading_.gpu->out_of_memory.emplace();
  oom = {event.bytes, allocator_.allocated(), allocator_.reserved(),
         event.label, last_operation_,        event.slot.frame};
  unnamed_.push_back(&oom.operation);
  unplaced_.push_back(&oom.frame);
}

void Reader::Allocate(const Event& event) {
  LiveTensor& tensor = tensors_.Insert(event);
  tensor.counted = CountedBytes(event.place, event.bytes);
  level_[Index(event.place)] += tensor.counted;
  if (event.place == Place::kGpu) {
    AllocateBlock(event, tensor);
  } else if (event.place == Place::kPinned) {
    level_[Index(Place::kHost)] += tensor.counted;
    pinned_.Allocate(event.bytes);
    CaptureIfPeak(Place::kHost, event);
  }
  CaptureIfPeak(event.place, event);
}

void Reader::Free(const Event& event) {
  const LiveTensor tensor = tensors_.Remove(event);
  level_[Index(event.place)] -= tensor.counted;
  if (event.place == Place::kPinned) {
    level_[Index(Place::kHost)] -= tensor.counted;
    pinned_.Free(event.bytes);
  }
  if (tensor.block >= 0 && replaying_) allocator_.Free(tensor.block);
}

// An operation's outputs are allocated right before it runs: what was allocated since the last
// kernel belongs to this one.
void Reader::Run(const Event& event, const Segment& leaf) {
  const program::Operation& operation =
      leaf.operations()[static_cast<std::size_t>(event.slot.index)];
  if (operation.kernel == program::KernelClass::kWait ||
      operation.kernel == program::KernelClass::kHostSync) {
    return;
  }
  last_operation_ = operation.label;
  if (unnamed_.empty()) return;
  for (std::string_view* name : unnamed_) *name = last_operation_;
  for (std::int32_t* frame : unplaced_) *frame = event.slot.frame;
  unnamed_.clear();
  unplaced_.clear();
}

void Reader::CaptureIfPeak(Place place, const Event& event) {
  const std::size_t i = Index(place);
  if (!captured_[i] && level_[i] == reading_.places[i].levels.peak) Capture(place, &event);
}

// The peak is known from the summary, so the parts are gathered the moment it is reached.
void Reader::Capture(Place place, const Event* event) {
  PlaceReading& reading = reading_.places[Index(place)];
  captured_[Index(place)] = true;
  reading.parts = PartsOf(tensors_.entries(), place);
  if (event == nullptr) return;
  reading.moment.event = event_number_;
  reading.moment.tensor = event->label;
  reading.moment.operation = last_operation_;  // kept if no kernel follows
  reading.moment.frame = event->slot.frame;
  unnamed_.push_back(&reading.moment.operation);
  unplaced_.push_back(&reading.moment.frame);
}

void Reader::Finish() {
  for (std::size_t i = 0; i < level_.size(); ++i) {
    const Levels& levels = reading_.places[i].levels;
    CHECK(captured_[i]) << "the summary of phase " << static_cast<int>(reading_.phase)
                        << " promises a peak of " << levels.peak.value() << " bytes in place " << i
                        << " that the walk never reaches";
    CHECK(level_[i] == levels.end) << "the walk of phase " << static_cast<int>(reading_.phase)
                                   << " ends at " << level_[i].value() << " bytes in place " << i
                                   << ", its summary at " << levels.end.value();
  }
  reading_.pinned_reserved_peak = pinned_.peak_reserved();
  if (!reading_.gpu) return;
  reading_.gpu->allocated_peak = allocator_.peak_allocated();
  reading_.gpu->reserved_peak = allocator_.peak_reserved();
  reading_.gpu->retries += allocator_.retries();
  const auto& empty_after = options_.empty_cache_after;
  if (std::find(empty_after.begin(), empty_after.end(), reading_.phase) != empty_after.end()) {
    allocator_.EmptyCache();
  }
  reading_.gpu->reserved_end = allocator_.reserved();
}

}  // namespace

bool Computes(Phase phase) {
  switch (phase) {
    case Phase::kFirstStep:
    case Phase::kSteadyStep:
    case Phase::kEvaluate:
    case Phase::kGenerate:
      return true;
    default:
      return false;
  }
}

std::vector<Event> HeldEvents(std::span<const HeldAllocation> held) {
  std::vector<Event> events;
  events.reserve(held.size());
  for (const HeldAllocation& each : held) {
    Event event;
    event.kind = EventKind::kAlloc;
    event.role = program::Role::kWorkspace;
    event.slot = {program::kSharedFrame, kHeldSlots + static_cast<std::int32_t>(events.size())};
    event.bytes = each.bytes;
    event.label = each.label;
    events.push_back(event);
  }
  return events;
}

std::size_t SummarizePhases(const program::RankProgram& rank, std::span<const HeldAllocation> held,
                            std::span<PlaceLevels> out) {
  std::size_t written = 0;
  ForEachPhase(rank, held, [&](std::size_t i, const PlaceLevels& levels) {
    if (i >= out.size()) return false;
    out[i] = levels;
    ++written;
    return true;
  });
  return written;
}

std::array<Highest, program::kPlaceCount> HighestLevels(const program::RankProgram& rank,
                                                        std::span<const HeldAllocation> held) {
  std::array<Highest, program::kPlaceCount> highest = {};
  ForEachPhase(rank, held, [&](std::size_t i, const PlaceLevels& levels) {
    for (std::size_t place = 0; place < levels.size(); ++place) {
      if (levels[place].peak > highest[place].bytes) highest[place] = {levels[place].peak, i};
    }
    return true;
  });
  return highest;
}

std::vector<PhaseReading> ReadPhases(const program::RankProgram& rank, const ReadOptions& options) {
  std::vector<PhaseReading> readings;
  readings.reserve(rank.phases.size());
  Reader reader(options);
  bool waiting = true;
  ForEachPhase(rank, options.held, [&](std::size_t i, const PlaceLevels& levels) {
    const bool hold = waiting && Computes(rank.phases[i].phase);
    waiting = waiting && !hold;
    readings.push_back(reader.Read(rank.phases[i], levels, hold));
    return true;
  });
  return readings;
}

std::vector<Part> ByRole(std::span<const Part> parts) {
  std::vector<Part> roles;
  for (const Part& part : parts) {
    const auto at = std::find_if(roles.begin(), roles.end(),
                                 [&](const Part& other) { return other.role == part.role; });
    Part& role = at == roles.end() ? roles.emplace_back(Part{part.role, {}, Bytes(), 0}) : *at;
    role.bytes += part.bytes;
    role.tensors += part.tensors;
  }
  std::sort(roles.begin(), roles.end(), LargerFirst);
  return roles;
}

}  // namespace trainfit::memory
