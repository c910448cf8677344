// What FSDP1 and FSDP2 share: which tensors are parameters of a unit, and which units a model has.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "frameworks/huggingface/model_frames.h"
#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {

// In the order of the module's parameters: words(i, bytes) for the packed words of a quantized
// tensor, where FSDP sees them; parameter(number, leaf, stored) for every other tensor and for each
// matrix of an adapter. `number`: as Frame::AdapterNumber counts; `stored`: the type of the shard.
template <typename Words, typename Parameter>
void ForEachUnitTensor(const Frame& frame, Words words, Parameter parameter) {
  for (std::int32_t i = 0; i < frame.size(); ++i) {
    if (!frame.held(i).quantized_4bit) {
      parameter(i, frame.WeightLeaf(i), frame.held(i).dtype);
    } else if (const Bytes bytes = GatheredWords(frame, i); bytes > Bytes()) {
      words(i, bytes);
    }
    for (std::int32_t n = 0; n < frame.AdapterCount(i); ++n) {
      parameter(Frame::AdapterNumber(i, n), frame.AdapterLeaf(i, n), frame.plan().adapter_dtype);
    }
  }
}

// Each layer is a unit, everything else the root.
template <typename Unit>
struct Units {
  Unit root;
  std::vector<Unit> layers;  // by kind
};

// `Recorder`: made of the frames of one unit, its Record() gives what happens to it.
template <typename Unit, typename Recorder>
Units<Unit> RecordUnits(const ModelFrames& frames) {
  const std::array<const Frame*, 2> ends = {&frames.before(), &frames.after()};
  Units<Unit> units;
  units.root = Recorder(ends, frames.store()).Record();
  for (const Frame& layer : frames.layers()) {
    const std::array<const Frame*, 1> alone = {&layer};
    units.layers.push_back(Recorder(alone, frames.store()).Record());
  }
  return units;
}

}  // namespace trainfit::frameworks::huggingface
