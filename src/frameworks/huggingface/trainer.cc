#include "frameworks/huggingface/trainer.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "frameworks/huggingface/block.h"
#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/fsdp2.h"
#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Child;
using program::Phase;
using program::Segment;

// Which kind of layer stands before, here and after; kNone at the ends of the stack.
constexpr std::int32_t kNone = -1;
struct Position {
  std::int32_t before = kNone;
  std::int32_t kind = 0;
  std::int32_t after = kNone;
  auto operator<=>(const Position&) const = default;
};

// Everything recorded for one micro-step.
struct Recorded {
  EndSegments embedding;
  EndSegments head;
  BlockSegments first;                // layer 1 when its input wants no gradient
  std::vector<BlockSegments> blocks;  // by kind
  bool first_differs = false;

  const BlockSegments& At(const Position& position) const {
    const bool is_first = position.before == kNone;
    return is_first && first_differs ? first : blocks[static_cast<std::size_t>(position.kind)];
  }
};

// Frames: 0 is the embedding (and FSDP's root unit), 1 … L the layers, L + 1 the head.
class TrainerBuilder {
 public:
  explicit TrainerBuilder(const plan::Plan& plan)
      : plan_(plan),
        stack_(plan.model->Text()),
        store_(*program_.store),
        before_(BeforeFrame(plan, false)),
        after_(AfterFrame(plan, false)),
        is_fsdp_(plan.parallel.sharding == spec::Sharding::kFsdp2) {
    for (const spec::LayerKind& kind : stack_.kinds) {
      layers_.emplace_back(plan, kind.tensors, 0, 0, false);
    }
    for (const spec::LayerRun& run : stack_.runs) {
      positions_.insert(positions_.end(), static_cast<std::size_t>(run.count),
                        Position{kNone, run.kind, kNone});
    }
    for (std::size_t i = 1; i < positions_.size(); ++i) {
      positions_[i].before = positions_[i - 1].kind;
      positions_[i - 1].after = positions_[i].kind;
    }
    if (is_fsdp_) RecordUnits();
  }

  program::Program Build() {
    program::RankProgram rank;
    rank.count = plan_.parallel.data;
    rank.phases.push_back({Phase::kLoad, EveryFrame([this](const Frame& frame) {
                             return RecordLoad(frame, plan_, store_);
                           })});
    rank.phases.push_back({Phase::kInit, Init()});
    rank.phases.push_back({Phase::kFirstStep, Step(true)});
    rank.phases.push_back({Phase::kSteadyStep, Step(false)});
    program_.ranks.push_back(std::move(rank));
    return std::move(program_);
  }

 private:
  void RecordUnits() {
    const std::array<const Frame*, 2> ends = {&before_, &after_};
    root_ = RecordFsdpUnit(ends, store_);
    for (const Frame& layer : layers_) {
      const Frame* frame = &layer;
      units_.push_back(RecordFsdpUnit({&frame, 1}, store_));
    }
  }
  const FsdpUnit& Unit(std::int32_t kind) const {
    return kind == kNone ? root_ : units_[static_cast<std::size_t>(kind)];
  }

  // make(position) for each layer at its frame, in order or reversed; equal neighbours become one
  // repeat.
  template <typename Make>
  void AppendLayers(std::vector<Child>& children, bool reversed, Make make) {
    std::map<Position, const Segment*> made;
    const auto layers = static_cast<std::int32_t>(positions_.size());
    const std::int32_t step = reversed ? -1 : 1;
    const auto at = [&](std::int32_t n) {
      const Position& position =
          positions_[static_cast<std::size_t>(reversed ? layers - 1 - n : n)];
      const Segment*& segment = made[position];
      if (segment == nullptr) segment = make(position);
      return segment;
    };
    for (std::int32_t n = 0; n < layers;) {
      const Segment* segment = at(n);
      std::int32_t count = 1;
      while (n + count < layers && at(n + count) == segment) ++count;
      const std::int32_t frame = reversed ? layers - n : n + 1;
      children.push_back({store_.Repeat({segment, frame}, count, step), 0});
      n += count;
    }
  }

  // record(frame) for the ends and each layer, in the order of the module's parameters.
  template <typename Record>
  const Segment* EveryFrame(Record record) {
    std::vector<const Segment*> by_kind;
    for (const Frame& layer : layers_) by_kind.push_back(record(layer));
    std::vector<Child> children = {{record(before_), 0}};
    AppendLayers(children, false,
                 [&](const Position& p) { return by_kind[static_cast<std::size_t>(p.kind)]; });
    children.push_back({record(after_), 0});
    return store_.Sequence(std::move(children));
  }

  const Segment* Init() {
    const Segment* adapters =
        EveryFrame([this](const Frame& frame) { return RecordAdapters(frame, store_); });
    if (plan_.parallel.sharding != spec::Sharding::kDdp) return adapters;
    const Segment* buckets =
        EveryFrame([this](const Frame& frame) { return RecordDdpBuckets(frame, store_); });
    return store_.Sequence({{adapters, 0}, {buckets, 0}});
  }

  Recorded RecordAll(bool has_gradients) {
    Recorded recorded;
    recorded.embedding = RecordEmbedding(plan_, store_, has_gradients);
    recorded.head = RecordHead(plan_, store_, has_gradients);
    for (const spec::LayerKind& kind : stack_.kinds) {
      recorded.blocks.push_back(RecordBlock(plan_, kind, store_, true, has_gradients));
    }
    recorded.first_differs = !InputWantsGradient(plan_);
    if (recorded.first_differs) {
      const auto kind = static_cast<std::size_t>(positions_.front().kind);
      recorded.first = RecordBlock(plan_, stack_.kinds[kind], store_, false, has_gradients);
    }
    return recorded;
  }

  const Segment* Forward(const Recorded& recorded, const Position& p) {
    const Segment* forward = recorded.At(p).forward;
    if (!is_fsdp_) return forward;
    const FsdpUnit& unit = Unit(p.kind);
    return store_.Sequence({{unit.gather, 0},
                            {Unit(p.before).free_gather, -1},
                            {unit.copy_out, 0},
                            {forward, 0},
                            {unit.reshard, 0}});
  }

  // `sync`: gradients are reduced after this micro-step.
  const Segment* Backward(const Recorded& recorded, const Position& p, bool sync) {
    const Segment* backward = recorded.At(p).backward;
    if (!is_fsdp_) return backward;
    const FsdpUnit& unit = Unit(p.kind);
    std::vector<Child> children;
    if (p.after == kNone) children.push_back({unit.gather, 0});
    children.push_back({unit.copy_out, 0});
    children.push_back({unit.free_gather, 0});
    if (p.before != kNone) children.push_back({Unit(p.before).gather, -1});  // prefetch
    children.push_back({backward, 0});
    children.push_back({unit.reshard, 0});
    if (sync) {
      if (p.after != kNone) children.push_back({Unit(p.after).free_reduce_input, 1});
      children.push_back({unit.reduce, 0});
    }
    return store_.Sequence(std::move(children));
  }

  const Segment* MicroStep(const Recorded& recorded, bool sync) {
    const auto end = static_cast<std::int32_t>(positions_.size()) + 1;
    std::vector<Child> children;
    const auto add = [&](const Segment* segment, std::int32_t frame) {
      children.push_back({segment, frame});
    };
    if (is_fsdp_) {
      add(root_.gather, 0);
      add(root_.copy_out, 0);
    }
    add(recorded.embedding.forward, 0);
    AppendLayers(children, false, [&](const Position& p) { return Forward(recorded, p); });
    add(recorded.head.forward, end);
    if (is_fsdp_) add(Unit(positions_.back().kind).free_gather, end - 1);
    add(recorded.embedding.exit_autocast, 0);
    AppendLayers(children, false, [&](const Position& p) { return recorded.At(p).exit_autocast; });
    add(recorded.head.exit_autocast, end);
    add(recorded.head.backward, end);
    AppendLayers(children, true, [&](const Position& p) { return Backward(recorded, p, sync); });
    add(recorded.embedding.backward, 0);
    if (is_fsdp_) {
      add(root_.reshard, 0);
      if (sync) {
        add(Unit(positions_.front().kind).free_reduce_input, 1);
        add(root_.reduce, 0);
        add(root_.free_reduce_input, 0);
      }
    }
    return store_.Sequence(std::move(children));
  }

  // Accumulation: the first micro-step makes the gradients, the others add to them. Trainer wraps
  // all but the last in no_sync (transformers/trainer.py), so FSDP keeps whole gradients until
  // then.
  const Segment* Accumulate() {
    if (accumulated_ != nullptr) return accumulated_;
    const std::int64_t steps = plan_.gradient_accumulation;
    std::vector<Child> children = {{MicroStep(RecordAll(false), steps == 1), 0}};
    if (steps > 1) {
      const Recorded later = RecordAll(true);
      if (steps > 2)
        children.push_back({store_.Repeat({MicroStep(later, false), 0}, steps - 2, 0), 0});
      children.push_back({MicroStep(later, true), 0});
    }
    accumulated_ = store_.Sequence(std::move(children));
    return accumulated_;
  }

  const Segment* ZeroGrad() {
    if (!is_fsdp_) {
      return EveryFrame([this](const Frame& frame) { return RecordZeroGrad(frame, store_); });
    }
    std::vector<Child> children = {{root_.zero_grad, 0}};
    AppendLayers(children, false, [&](const Position& p) { return Unit(p.kind).zero_grad; });
    return store_.Sequence(std::move(children));
  }

  const Segment* Step(bool is_first) {
    std::vector<Child> children = {{Accumulate(), 0}};
    const auto add = [&](auto record) { children.push_back({EveryFrame(record), 0}); };
    if (is_first) {
      add([this](const Frame& f) { return RecordStates(f, plan_, store_); });
    }
    add([this](const Frame& f) { return RecordForeachTemporaries(f, plan_, store_, true); });
    add([this](const Frame& f) { return RecordUpdate(f, plan_, store_); });
    add([this](const Frame& f) { return RecordForeachTemporaries(f, plan_, store_, false); });
    children.push_back({ZeroGrad(), 0});
    return store_.Sequence(std::move(children));
  }

  const plan::Plan& plan_;
  const spec::Stack& stack_;
  program::Program program_;
  program::SegmentStore& store_;
  Frame before_;
  Frame after_;
  std::vector<Frame> layers_;        // by kind
  std::vector<Position> positions_;  // by layer
  bool is_fsdp_;
  FsdpUnit root_;
  std::vector<FsdpUnit> units_;  // by kind
  const Segment* accumulated_ = nullptr;
};

}  // namespace

program::Program BuildTrainer(const plan::Plan& plan) { return TrainerBuilder(plan).Build(); }

}  // namespace trainfit::frameworks::huggingface
