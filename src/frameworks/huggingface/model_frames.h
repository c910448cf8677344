// All frames of a model under a plan, and the ways to go through them.
//
// Frame numbers: 0 is the embedding, 1 … L the layers in order of execution, L + 1 the head.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "frameworks/huggingface/layer.h"
#include "program/segment.h"

namespace trainfit::frameworks::huggingface {

using Children = std::vector<program::Child>;

// Which kind of layer stands before, here and after; kNoLayer at the ends of the stack.
inline constexpr std::int32_t kNoLayer = -1;
struct Position {
  std::int32_t before = kNoLayer;
  std::int32_t kind = 0;
  std::int32_t after = kNoLayer;
  auto operator<=>(const Position&) const = default;
};

// One leaf that `body(tape)` records.
template <typename Body>
const program::Segment* RecordLeaf(program::SegmentStore& store, Body body) {
  program::Tape tape;
  body(tape);
  tape.Cut();
  return tape.Finish(store).front();
}

class ModelFrames {
 public:
  ModelFrames(const plan::Plan& plan, program::SegmentStore& store);

  const plan::Plan& plan() const { return *plan_; }
  program::SegmentStore& store() const { return *store_; }
  const Frame& before() const { return before_; }
  const Frame& after() const { return after_; }
  const std::vector<Frame>& layers() const { return layers_; }  // by kind
  const Position& First() const { return positions_.front(); }
  const Position& Last() const { return positions_.back(); }
  std::int32_t HeadFrame() const { return static_cast<std::int32_t>(positions_.size()) + 1; }

  // make(position) placed at each layer's frame, in order of execution or reversed. Called once
  // for equal positions; equal neighbours become one repeat.
  using Make = std::function<const program::Segment*(const Position&)>;
  void AppendLayers(Children& children, bool reversed, const Make& make) const;

  // record(frame) for the ends and each layer, in the order of the module's parameters.
  using Record = std::function<const program::Segment*(const Frame&)>;
  const program::Segment* EveryFrame(const Record& record) const;

 private:
  const plan::Plan* plan_;
  program::SegmentStore* store_;
  Frame before_;
  Frame after_;
  std::vector<Frame> layers_;
  std::vector<Position> positions_;  // by layer
};

}  // namespace trainfit::frameworks::huggingface
