#include "frameworks/megatron/stage.h"

#include <utility>
#include <vector>

#include "frameworks/megatron/ends.h"
#include "frameworks/megatron/module.h"
#include "frameworks/megatron/states.h"
#include "program/schedule.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Phase;
using program::Role;
using program::Segment;
using program::Stream;

// Frame of the n-th layer of the model, counted from 0; the embedding has frame 0.
std::int32_t FrameOf(std::int64_t layer) { return static_cast<std::int32_t>(layer) + 1; }

class StageBuilder {
 public:
  StageBuilder(const plan::Plan& plan, std::int64_t stage, program::SegmentStore& store)
      : plan_(plan), stage_(stage), store_(store) {
    for (const spec::LayerRun& run : plan.model->Text().runs) {
      kinds_.insert(kinds_.end(), static_cast<std::size_t>(run.count), run.kind);
    }
    const std::size_t kinds = plan.model->Text().kinds.size();
    layers_.resize(2 * kinds);
    for (std::int64_t chunk = 0; chunk < plan.parallel.virtual_stages; ++chunk) {
      chunks_.push_back(RangeOf(chunk));
    }
  }

  program::RankProgram Build() {
    const States states(plan_, StageTensors(), TiedEnds(), store_);
    program::Pipeline pipeline;
    for (std::int64_t chunk = 0; chunk < plan_.parallel.virtual_stages; ++chunk) {
      pipeline.chunks.push_back({Forward(chunk), Backward(chunk)});
    }
    pipeline.stages = plan_.parallel.pipeline;
    pipeline.stage = stage_;
    pipeline.micro_batches = plan_.gradient_accumulation;
    pipeline.schedule = ScheduleOf();
    pipeline.update = states.Update(false);
    const Segment* passes = Passes(pipeline.chunks);

    program::RankProgram rank;
    rank.phases.push_back({Phase::kLoad, states.Load()});
    rank.phases.push_back({Phase::kInit, states.Init()});
    rank.phases.push_back(
        {Phase::kFirstStep,
         store_.Sequence({{states.FirstUse(), 0}, {passes, 0}, {states.Update(true), 0}})});
    rank.phases.push_back(
        {Phase::kSteadyStep, store_.Sequence({{passes, 0}, {pipeline.update, 0}})});
    rank.pipeline = std::move(pipeline);
    return rank;
  }

 private:
  struct Range {
    std::int64_t first = 0;  // layer of the model
    std::int64_t count = 0;
  };

  // Chunk c of stage s comes after chunk c of the stages before it (transformer_layer.py
  // get_transformer_layer_offset).
  Range RangeOf(std::int64_t chunk) const {
    const auto& stages = plan_.parallel.stage_layers;
    const std::int64_t chunks = plan_.parallel.virtual_stages;
    Range range;
    range.count = stages[static_cast<std::size_t>(stage_)] / chunks;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      range.first += stages[stage] / chunks * chunk;
      if (static_cast<std::int64_t>(stage) < stage_) range.first += stages[stage] / chunks;
    }
    return range;
  }

  bool IsFirst(std::int64_t chunk) const { return stage_ == 0 && chunk == 0; }
  bool IsLast(std::int64_t chunk) const {
    return stage_ + 1 == plan_.parallel.pipeline && chunk + 1 == plan_.parallel.virtual_stages;
  }
  bool HasEmbedding() const { return stage_ == 0; }
  bool HasHead() const { return stage_ + 1 == plan_.parallel.pipeline; }
  bool TiedEnds() const {
    return plan_.model->tied_head && plan_.parallel.pipeline > 1 && (HasEmbedding() || HasHead());
  }
  std::int32_t HeadFrame() const { return FrameOf(static_cast<std::int64_t>(kinds_.size())); }

  program::Schedule ScheduleOf() const {
    if (plan_.parallel.virtual_stages > 1) return program::Schedule::kInterleaved;
    return plan_.parallel.order == spec::PipelineOrder::kAllForwardFirst
               ? program::Schedule::kAllForwardFirst
               : program::Schedule::kOneForwardOneBackward;
  }

  StageParameters StageTensors() const {
    StageParameters all;
    if (HasEmbedding()) all.push_back({EmbeddingParameters(plan_), 0});
    for (const Range& range : chunks_) {
      for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
        all.push_back({LayerParameters(plan_, KindOf(layer)), FrameOf(layer)});
      }
    }
    if (HasHead()) all.push_back({HeadParameters(plan_), HeadFrame()});
    return all;
  }

  const spec::LayerKind& KindOf(std::int64_t layer) const {
    const std::int32_t kind = kinds_[static_cast<std::size_t>(layer)];
    return plan_.model->Text().kinds[static_cast<std::size_t>(kind)];
  }

  // transformer_block.py _checkpointed_forward: method block recomputes the first layers of a
  // chunk, uniform all of them.
  bool Recomputes(std::int64_t number_in_chunk) const {
    if (plan_.checkpointing != spec::Checkpointing::kFull) return false;
    return !plan_.recompute_layers.has_value() || number_in_chunk < *plan_.recompute_layers;
  }

  const Piece& Layer(std::int64_t layer, std::int64_t number_in_chunk) {
    const bool recomputes = Recomputes(number_in_chunk);
    const auto kind = static_cast<std::size_t>(kinds_[static_cast<std::size_t>(layer)]);
    Piece& piece = layers_[2 * kind + (recomputes ? 1 : 0)];
    if (piece.forward == nullptr) piece = RecordLayer(plan_, KindOf(layer), recomputes, store_);
    return piece;
  }

  Bytes Boundary() const {
    return Bytes(TokensOutside(plan_) * plan_.model->Text().hidden *
                 spec::ElementBytes(plan_.compute_dtype));
  }

  // A buffer for what the neighbour sends.
  const Segment* Receive(std::int32_t slot, const char* label) {
    Tape tape;
    tape.AllocSlot({0, slot}, Boundary(), Role::kActivations, label);
    tape.Cut();
    return tape.Finish(store_).front();
  }

  // deallocate_output_tensor: what was sent is not kept.
  const Segment* Send(std::int32_t slot, Role role, const char* label) {
    Tape tape;
    tape.Exchange(program::Collective::kSendReceive, program::Group::kPipeline, label, Boundary(),
                  Stream::kCompute);
    tape.FreeSlot({0, slot}, Boundary(), role, label);
    tape.Cut();
    return tape.Finish(store_).front();
  }

  const Segment* Forward(std::int64_t chunk) {
    const Range range = chunks_[static_cast<std::size_t>(chunk)];
    const auto before = static_cast<std::int32_t>(range.first);
    Children children;
    if (IsFirst(chunk)) {
      children.push_back({Embedding().forward, 0});
    } else {
      children.push_back({Receive(program::kCarrySlot, "received activations"), before});
    }
    AppendLayers(children, range, false);
    if (IsLast(chunk)) {
      children.push_back({Head().forward, HeadFrame()});
    } else {
      children.push_back({Send(program::kCarrySlot, Role::kActivations, "activations"),
                          static_cast<std::int32_t>(range.first + range.count)});
    }
    return store_.Sequence(std::move(children));
  }

  const Segment* Backward(std::int64_t chunk) {
    const Range range = chunks_[static_cast<std::size_t>(chunk)];
    Children children;
    if (IsLast(chunk)) {
      children.push_back({Head().backward, HeadFrame()});
    } else {
      children.push_back({Receive(program::kCarryGradientSlot, "received gradients"),
                          static_cast<std::int32_t>(range.first + range.count)});
    }
    AppendLayers(children, range, true);
    if (IsFirst(chunk)) {
      children.push_back({Embedding().backward, 0});
    } else {
      children.push_back({Send(program::kCarryGradientSlot, Role::kActivations, "gradients"),
                          static_cast<std::int32_t>(range.first)});
    }
    return store_.Sequence(std::move(children));
  }

  // Equal neighbours become one repeat.
  void AppendLayers(Children& children, const Range& range, bool reversed) {
    const auto at = [&](std::int64_t n) {
      const std::int64_t number = reversed ? range.count - 1 - n : n;
      const Piece& piece = Layer(range.first + number, number);
      return reversed ? piece.backward : piece.forward;
    };
    for (std::int64_t n = 0; n < range.count;) {
      const Segment* segment = at(n);
      std::int64_t count = 1;
      while (n + count < range.count && at(n + count) == segment) ++count;
      const std::int64_t layer = range.first + (reversed ? range.count - 1 - n : n);
      children.push_back({store_.Repeat({segment, FrameOf(layer)}, count, reversed ? -1 : 1), 0});
      n += count;
    }
  }

  const Piece& Embedding() {
    if (embedding_.forward == nullptr) embedding_ = RecordEmbedding(plan_, store_);
    return embedding_;
  }
  const Piece& Head() {
    if (head_.forward == nullptr) head_ = RecordHead(plan_, store_);
    return head_;
  }

  const Segment* Passes(const std::vector<program::MicroStep>& chunks) {
    const program::StageOrder order =
        program::OrderOf(plan_.parallel, stage_, plan_.gradient_accumulation);
    const auto sequence = [&](const std::vector<program::Pass>& passes) {
      Children children;
      children.reserve(passes.size());
      for (const program::Pass& pass : passes) {
        const program::MicroStep& step = chunks[static_cast<std::size_t>(pass.chunk)];
        children.push_back({pass.is_forward ? step.forward : step.backward,
                            pass.place * program::kMicroBatchFrames});
      }
      return store_.Sequence(std::move(children));
    };
    Children children = {{sequence(order.before), 0}};
    if (order.repeats > 0) {
      children.push_back({store_.Repeat({sequence(order.period), 0}, order.repeats, 0), 0});
    }
    children.push_back({sequence(order.after), 0});
    return store_.Sequence(std::move(children));
  }

  const plan::Plan& plan_;
  std::int64_t stage_;
  program::SegmentStore& store_;
  std::vector<std::int32_t> kinds_;  // by layer of the model
  std::vector<Range> chunks_;
  std::vector<Piece> layers_;  // 2 × kind, + 1 when recomputed
  Piece embedding_;
  Piece head_;
};

}  // namespace

program::RankProgram BuildStage(const plan::Plan& plan, std::int64_t stage,
                                program::SegmentStore& store) {
  return StageBuilder(plan, stage, store).Build();
}

}  // namespace trainfit::frameworks::megatron
