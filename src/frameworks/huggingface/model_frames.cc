#include "frameworks/huggingface/model_frames.h"

#include <map>
#include <utility>

#include "frameworks/huggingface/ends.h"

namespace trainfit::frameworks::huggingface {

using program::Segment;

ModelFrames::ModelFrames(const plan::Plan& plan, program::SegmentStore& store)
    : plan_(&plan),
      store_(&store),
      before_(BeforeFrame(plan, false)),
      after_(AfterFrame(plan, false)) {
  const spec::Stack& stack = plan.model->Text();
  for (const spec::LayerKind& kind : stack.kinds) {
    layers_.emplace_back(plan, kind.tensors, 0, 0, false);
  }
  for (const spec::LayerRun& run : stack.runs) {
    positions_.insert(positions_.end(), static_cast<std::size_t>(run.count),
                      Position{kNoLayer, run.kind, kNoLayer});
  }
  for (std::size_t i = 1; i < positions_.size(); ++i) {
    positions_[i].before = positions_[i - 1].kind;
    positions_[i - 1].after = positions_[i].kind;
  }
}

void ModelFrames::AppendLayers(Children& children, bool reversed, const Make& make) const {
  std::map<Position, const Segment*> made;
  const auto layers = static_cast<std::int32_t>(positions_.size());
  const auto at = [&](std::int32_t n) {
    const auto layer = static_cast<std::size_t>(reversed ? layers - 1 - n : n);
    const Segment*& segment = made[positions_[layer]];
    if (segment == nullptr) segment = make(positions_[layer]);
    return segment;
  };
  for (std::int32_t n = 0; n < layers;) {
    const Segment* segment = at(n);
    std::int32_t count = 1;
    while (n + count < layers && at(n + count) == segment) ++count;
    const std::int32_t frame = reversed ? layers - n : n + 1;
    children.push_back({store_->Repeat({segment, frame}, count, reversed ? -1 : 1), 0});
    n += count;
  }
}

const Segment* ModelFrames::EveryFrame(const Record& record) const {
  std::vector<const Segment*> by_kind;
  by_kind.reserve(layers_.size());
  for (const Frame& layer : layers_) by_kind.push_back(record(layer));
  Children children = {{record(before_), 0}};
  AppendLayers(children, false,
               [&](const Position& p) { return by_kind[static_cast<std::size_t>(p.kind)]; });
  children.push_back({record(after_), 0});
  return store_->Sequence(std::move(children));
}

}  // namespace trainfit::frameworks::huggingface
