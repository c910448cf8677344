#include "memory/shortage.h"

#include "memory/live_bytes.h"

namespace trainfit::memory {
namespace {

using program::Event;
using program::EventKind;
using program::Place;

class ShortageFinder : public program::EventSink {
 public:
  explicit ShortageFinder(const AllocatorSettings& settings) : allocator_(settings) {}

  const std::optional<Shortage>& shortage() const { return shortage_; }

  void OnEvent(const Event& event, const program::Segment&) override {
    if (shortage_.has_value() || event.place != Place::kGpu) return;
    switch (event.kind) {
      case EventKind::kAlloc:
        Allocate(event);
        break;
      case EventKind::kFree:
        allocator_.Free(tensors_.Remove(event).block);
        break;
      case EventKind::kMove:
        tensors_.Move(event);
        break;
      case EventKind::kEmptyCache:
        allocator_.EmptyCache();
        break;
      case EventKind::kRun:
        break;
    }
  }

 private:
  void Allocate(const Event& event) {
    const std::int32_t block = allocator_.Allocate(event.bytes, event.stream);
    if (block == CachingAllocator::kOutOfMemory) {
      shortage_ = Shortage{event.bytes, allocator_.allocated()};
    } else {
      tensors_.Insert(event).block = block;
    }
  }

  CachingAllocator allocator_;
  LiveTensors tensors_;
  std::optional<Shortage> shortage_;
};

}  // namespace

std::optional<Shortage> FindShortage(const program::RankProgram& rank,
                                     std::span<const HeldAllocation> held,
                                     const AllocatorSettings& settings) {
  ShortageFinder finder(settings);
  const program::Segment none;
  bool waiting = true;
  for (const program::PhaseProgram& phase : rank.phases) {
    if (waiting && Computes(phase.phase)) {
      waiting = false;
      for (const Event& event : HeldEvents(held)) finder.OnEvent(event, none);
    }
    Walk(*phase.segment, 0, finder);
    if (finder.shortage().has_value()) break;
  }
  return finder.shortage();
}

}  // namespace trainfit::memory
