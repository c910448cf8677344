// What a rank holds between steps: weights, main gradients, fp32 masters, moments; and the
// optimizer's turn. (megatron/core/distributed, megatron/core/optimizer)
#pragma once

#include <cstdint>
#include <vector>

#include "frameworks/megatron/parameters.h"
#include "program/segment.h"

namespace trainfit::frameworks::megatron {

// The parameters of one piece of a stage, placed at a frame.
struct Placed {
  Parameters parameters;
  std::int32_t frame = 0;
};
using StageParameters = std::vector<Placed>;

using Children = std::vector<program::Child>;

class States {
 public:
  // `tied_ends`: this stage is the first or the last of several that share one word table.
  States(const plan::Plan& plan, StageParameters parameters, bool tied_ends,
         program::SegmentStore& store)
      : plan_(plan), parameters_(std::move(parameters)), tied_ends_(tied_ends), store_(store) {}

  const program::Segment* Load() const;
  // Gradient buffers, the distributed optimizer's weight buffer, masters.
  const program::Segment* Init() const;
  // Buffers that libraries take in the first step and keep.
  const program::Segment* FirstUse() const;
  // Gradients are reduced, the optimizer steps, weights are gathered. Moments appear in the first.
  const program::Segment* Update(bool is_first) const;

 private:
  struct Sums {
    std::int64_t dense = 0;  // elements
    std::int64_t experts = 0;
  };
  Sums Total() const;
  // Of the weights of one kind, as this rank holds them whole.
  Bytes WeightBytes(bool experts) const;
  Bytes SharedBuffer() const;
  bool IsDistributed() const;
  std::int64_t Replicas(bool experts) const;
  std::int64_t Shard(const Parameter& parameter) const;
  template <typename Visit>
  void ForEach(Visit visit) const;

  const plan::Plan& plan_;
  StageParameters parameters_;
  bool tied_ends_;
  program::SegmentStore& store_;
};

}  // namespace trainfit::frameworks::megatron
