// A program is a tree of segments that summarize.
//
// A leaf is a recorded list of events; a sequence places children one after the other; a repeat
// places one child `count` times, each time in another frame. Every segment knows, per place, the
// pair (net bytes left behind, peak above entry):
//
//   sequence (n1, p1), (n2, p2) = (n1 + n2, max(p1, n1 + p2))
//   repeat k                    = (k n, p + max(0, (k - 1) n))
//
// so the peak of live bytes of an 80-layer model costs the same as that of one layer. GPU bytes are
// counted as the CUDA caching allocator counts them, rounded up to 512. Walking the tree gives
// every event in order; the law "summary = walk" is property-tested.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "program/event.h"

namespace trainfit::program {

// Bytes left behind, and the highest level above the level at entry (never below 0).
struct Extent {
  Bytes net;
  Bytes peak;
  bool operator==(const Extent&) const = default;
};
Extent Then(Extent first, Extent second);
Extent Times(Extent once, std::int64_t count);

using Summary = std::array<Extent, kPlaceCount>;

// What an allocation of `bytes` adds to the live bytes of a place: on the GPU
// 512 * ceil(bytes / 512) (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize), elsewhere itself.
Bytes CountedBytes(Place place, Bytes bytes);

class Segment;

struct Child {
  const Segment* segment = nullptr;
  std::int32_t frame = 0;  // relative to the parent's frame
};

class Segment {
 public:
  enum class Kind { kLeaf, kSequence, kRepeat };

  Kind kind() const { return kind_; }
  const Summary& summary() const { return summary_; }
  const Extent& summary(Place place) const { return summary_[static_cast<std::size_t>(place)]; }

  std::span<const Event> events() const { return events_; }              // kLeaf
  std::span<const Operation> operations() const { return operations_; }  // kLeaf
  std::span<const Child> children() const { return children_; }          // kSequence; kRepeat: one
  std::int64_t count() const { return count_; }                          // kRepeat
  std::int32_t frame_step() const { return frame_step_; }                // kRepeat

 private:
  friend class SegmentStore;
  Kind kind_ = Kind::kLeaf;
  std::vector<Event> events_;
  std::vector<Operation> operations_;
  std::vector<Child> children_;
  std::int64_t count_ = 1;
  std::int32_t frame_step_ = 0;
  Summary summary_;
};

// Owns segments; pointers stay valid for the life of the store.
class SegmentStore {
 public:
  const Segment* Leaf(std::vector<Event> events, std::vector<Operation> operations);
  const Segment* Sequence(std::vector<Child> children);
  // `child` at frames child.frame, child.frame + frame_step, … (count times).
  const Segment* Repeat(Child child, std::int64_t count, std::int32_t frame_step);
  const Segment* Empty();

 private:
  std::deque<Segment> segments_;
};

// Receives every event of a segment in program order, frames absolute.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvent(const Event& event, const Segment& leaf) = 0;
};

// Visits the events below `segment`, placed at `frame`. Of equal rounds in one place that leave
// nothing behind (micro-steps of an accumulation) two are visited: more change no level.
void Walk(const Segment& segment, std::int32_t frame, EventSink& sink);

// The summary of a list of events, by going through them.
Summary Summarize(std::span<const Event> events);

}  // namespace trainfit::program
