#include "program/segment.h"

#include <algorithm>
#include <utility>

namespace trainfit::program {
namespace {

constexpr Bytes kAllocatorGranularity{512};

void Apply(Extent& extent, Bytes delta) {
  extent.net += delta;
  extent.peak = std::max(extent.peak, extent.net);
}

bool LeavesNothing(const Segment& segment) {
  return std::all_of(segment.summary().begin(), segment.summary().end(),
                     [](const Extent& extent) { return extent.net == Bytes(); });
}

}  // namespace

Extent Then(Extent first, Extent second) {
  return {first.net + second.net, std::max(first.peak, first.net + second.peak)};
}

Extent Times(Extent once, std::int64_t count) {
  if (count <= 0) return {};
  const Bytes drift = (count - 1) * once.net;
  return {count * once.net, once.peak + std::max(Bytes(), drift)};
}

Bytes CountedBytes(Place place, Bytes bytes) {
  if (place != Place::kGpu) return bytes;
  return std::max(kAllocatorGranularity, RoundUp(bytes, kAllocatorGranularity));
}

Summary Summarize(std::span<const Event> events) {
  Summary summary;
  for (const Event& event : events) {
    if (event.kind != EventKind::kAlloc && event.kind != EventKind::kFree) continue;
    const Bytes counted = CountedBytes(event.place, event.bytes);
    const Bytes delta = event.kind == EventKind::kAlloc ? counted : -counted;
    Apply(summary[static_cast<std::size_t>(event.place)], delta);
    if (event.place == Place::kPinned)
      Apply(summary[static_cast<std::size_t>(Place::kHost)], delta);
  }
  return summary;
}

const Segment* SegmentStore::Leaf(std::vector<Event> events, std::vector<Operation> operations) {
  Segment& segment = segments_.emplace_back();
  segment.kind_ = Segment::Kind::kLeaf;
  segment.events_ = std::move(events);
  segment.operations_ = std::move(operations);
  segment.summary_ = Summarize(segment.events_);
  return &segment;
}

const Segment* SegmentStore::Sequence(std::vector<Child> children) {
  Segment& segment = segments_.emplace_back();
  segment.kind_ = Segment::Kind::kSequence;
  segment.children_ = std::move(children);
  for (const Child& child : segment.children_) {
    for (std::size_t place = 0; place < kPlaceCount; ++place) {
      segment.summary_[place] = Then(segment.summary_[place], child.segment->summary()[place]);
    }
  }
  return &segment;
}

const Segment* SegmentStore::Repeat(Child child, std::int64_t count, std::int32_t frame_step) {
  Segment& segment = segments_.emplace_back();
  segment.kind_ = Segment::Kind::kRepeat;
  segment.children_ = {child};
  segment.count_ = count;
  segment.frame_step_ = frame_step;
  for (std::size_t place = 0; place < kPlaceCount; ++place) {
    segment.summary_[place] = Times(child.segment->summary()[place], count);
  }
  return &segment;
}

const Segment* SegmentStore::Empty() { return Leaf({}, {}); }

void Walk(const Segment& segment, std::int32_t frame, EventSink& sink) {
  switch (segment.kind()) {
    case Segment::Kind::kLeaf:
      for (Event event : segment.events()) {
        if (event.slot.frame != kSharedFrame) event.slot.frame += frame;
        if (event.to.frame != kSharedFrame) event.to.frame += frame;
        sink.OnEvent(event, segment);
      }
      return;
    case Segment::Kind::kSequence:
      for (const Child& child : segment.children()) Walk(*child.segment, frame + child.frame, sink);
      return;
    case Segment::Kind::kRepeat: {
      const Child& child = segment.children().front();
      // Rounds in one place that leave nothing behind are equal from the second one on, for live
      // bytes and, within what segments it caches, for the allocator.
      const bool is_standing = segment.frame_step() == 0 && LeavesNothing(*child.segment);
      const std::int64_t rounds =
          is_standing ? std::min<std::int64_t>(segment.count(), 2) : segment.count();
      std::int32_t at = frame + child.frame;
      for (std::int64_t i = 0; i < rounds; ++i, at += segment.frame_step()) {
        Walk(*child.segment, at, sink);
      }
      return;
    }
  }
}

}  // namespace trainfit::program
