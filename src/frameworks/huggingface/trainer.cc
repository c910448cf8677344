#include "frameworks/huggingface/trainer.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "frameworks/huggingface/block.h"
#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/host.h"
#include "frameworks/huggingface/sharding.h"
#include "frameworks/huggingface/states.h"
#include "frameworks/huggingface/tensor_parallel.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Segment;

// Everything recorded for one micro-step.
struct Recorded {
  EndSegments embedding;
  EndSegments head;
  BlockSegments first;                // layer 1 when its input is of another kind
  std::vector<BlockSegments> blocks;  // by kind
  bool first_differs = false;

  const BlockSegments& At(const Position& position) const {
    const bool is_first = position.before == kNoLayer;
    return is_first && first_differs ? first : blocks[static_cast<std::size_t>(position.kind)];
  }
};

class TrainerBuilder {
 public:
  TrainerBuilder(const plan::Plan& plan, program::Program& program)
      : plan_(plan), store_(*program.store), frames_(plan, store_) {
    sharding_ = MakeSharding();
  }

  program::RankProgram Build() {
    program::RankProgram rank;
    rank.count = plan_.parallel.Ranks();
    rank.phases.push_back({Phase::kDownload, store_.Empty()});
    rank.phases.push_back({Phase::kLoad, Load()});
    rank.phases.push_back({Phase::kInit, Init()});
    rank.phases.push_back({Phase::kFirstStep, Step(true)});
    rank.phases.push_back({Phase::kSteadyStep, Step(false)});
    rank.phases.push_back({Phase::kSave, RecordRankSave(frames_)});
    return rank;
  }

  program::RankProgram BuildNode() { return RecordNode(frames_); }

 private:
  std::unique_ptr<Sharding> MakeSharding() const {
    switch (plan_.parallel.sharding) {
      case spec::Sharding::kFsdp1:
        return MakeFsdp1(frames_);
      case spec::Sharding::kFsdp2:
        return MakeFsdp2(frames_);
      case spec::Sharding::kZero1:
      case spec::Sharding::kZero2:
        return MakeZero12(frames_);
      case spec::Sharding::kZero3:
        return MakeZero3(frames_);
      default:
        return MakeReplicated(frames_);
    }
  }

  const Segment* Load() {
    return store_.Sequence({{RecordRankCopy(frames_, true), 0},
                            {frames_.EveryFrame([this](const Frame& frame) {
                               return RecordLoad(frame, plan_, store_);
                             }),
                             0},
                            {RecordRankCopy(frames_, false), 0}});
  }

  const Segment* Init() {
    Children children = {
        {frames_.EveryFrame([this](const Frame& frame) { return RecordAdapters(frame, store_); }),
         0}};
    sharding_->AppendInit(children);
    return store_.Sequence(std::move(children));
  }

  Recorded RecordAll(bool has_gradients) {
    Recorded recorded;
    recorded.embedding = RecordEmbedding(plan_, store_, has_gradients);
    const spec::Dtype embedded = recorded.embedding.output;
    const bool wants_gradient = InputWantsGradient(plan_);
    const std::vector<spec::LayerKind>& kinds = plan_.model->Text().kinds;
    recorded.first = RecordBlock(plan_, kinds[static_cast<std::size_t>(frames_.First().kind)],
                                 store_, wants_gradient, has_gradients, embedded);
    // The first layer settles the type of the residual stream: promotion has no way back.
    const spec::Dtype stream = recorded.first.output;
    recorded.first_differs = !wants_gradient || stream != embedded;
    for (const spec::LayerKind& kind : kinds) {
      recorded.blocks.push_back(RecordBlock(plan_, kind, store_, true, has_gradients, stream));
      CHECK(recorded.blocks.back().output == stream) << "layers disagree about the stream's type";
    }
    recorded.head = RecordHead(plan_, store_, has_gradients, stream);
    return recorded;
  }

  const Segment* MicroStep(const Recorded& recorded, Round round) {
    const std::int32_t head = frames_.HeadFrame();
    Children children;
    sharding_->BeginForward(children);
    children.push_back({recorded.embedding.forward, 0});
    frames_.AppendLayers(children, false, [&](const Position& p) {
      return sharding_->Forward(p, recorded.At(p).forward);
    });
    children.push_back({recorded.head.forward, head});
    sharding_->EndForward(children);
    children.push_back({recorded.embedding.exit_autocast, 0});
    frames_.AppendLayers(children, false,
                         [&](const Position& p) { return recorded.At(p).exit_autocast; });
    children.push_back({recorded.head.exit_autocast, head});
    children.push_back({recorded.head.backward, head});
    frames_.AppendLayers(children, true, [&](const Position& p) {
      return sharding_->Backward(p, BlockBackward(p, recorded.At(p)), round);
    });
    children.push_back({recorded.embedding.backward, 0});
    frames_.AppendLayers(children, true,
                         [&](const Position& p) { return Release(p, recorded.At(p)); });
    sharding_->EndBackward(children, round);
    children.push_back({ReadLoss(), 0});
    return store_.Sequence(std::move(children));
  }

  // Trainer looks at the loss of each micro-step: torch.isnan(tr_loss_step) in an `if`
  // (transformers/trainer.py, logging_nan_inf_filter).
  const Segment* ReadLoss() {
    program::Tape tape;
    tape.HostSync();
    tape.Cut();
    return tape.Finish(store_).front();
  }

  // Nothing holds the gradient that the last layer gets from the head.
  const Segment* BlockBackward(const Position& position, const BlockSegments& block) {
    if (position.after != kNoLayer || block.release_gradient == nullptr) return block.backward;
    return store_.Sequence({{block.backward, 0}, {block.release_gradient, 0}});
  }

  const Segment* Release(const Position& position, const BlockSegments& block) {
    Children children;
    if (block.release_input != nullptr) children.push_back({block.release_input, 0});
    if (block.release_gradient != nullptr && position.after != kNoLayer) {
      children.push_back({block.release_gradient, 0});
    }
    return store_.Sequence(std::move(children));
  }

  // Accumulation: the first micro-step makes the gradients, the others add to them. Those that are
  // not the last do not reduce them where the framework wraps them in no_sync
  // (transformers/trainer.py).
  const Segment* Accumulate() {
    if (accumulated_ != nullptr) return accumulated_;
    const std::int64_t steps = plan_.gradient_accumulation;
    const bool syncs_each = plan_.facts.Is(plan::Fact::kSyncEachMicroStep);
    Children children = {
        {MicroStep(RecordAll(TakesGradients(plan_)), {true, syncs_each || steps == 1}), 0}};
    if (steps > 1) {
      const Recorded later = RecordAll(sharding_->AccumulatesInPlace());
      if (steps > 2) {
        children.push_back(
            {store_.Repeat({MicroStep(later, {false, syncs_each}), 0}, steps - 2, 0), 0});
      }
      children.push_back({MicroStep(later, {false, true}), 0});
    }
    accumulated_ = store_.Sequence(std::move(children));
    return accumulated_;
  }

  const Segment* Step(bool is_first) {
    Children children = {{Accumulate(), 0}};
    sharding_->AppendUpdate(children, is_first);
    return store_.Sequence(std::move(children));
  }

  const plan::Plan& plan_;
  program::SegmentStore& store_;
  ModelFrames frames_;
  std::unique_ptr<Sharding> sharding_;
  const Segment* accumulated_ = nullptr;
};

}  // namespace

program::Program BuildTrainer(const plan::Plan& plan) {
  program::Program program;
  plan::Plan of_rank = plan;
  if (plan.parallel.tensor > 1) {
    of_rank.model = TensorShare(*plan.model, plan.parallel.tensor);
  }
  TrainerBuilder builder(of_rank, program);
  program.ranks.push_back(builder.Build());
  program.node = builder.BuildNode();
  return program;
}

}  // namespace trainfit::frameworks::huggingface
