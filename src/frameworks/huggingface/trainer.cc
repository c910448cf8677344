#include "frameworks/huggingface/trainer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frameworks/huggingface/block.h"
#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Child;
using program::Phase;
using program::Segment;

// Frames: 0 is the embedding, 1 … L the layers in order of execution, L + 1 the head.
class TrainerBuilder {
 public:
  explicit TrainerBuilder(const plan::Plan& plan)
      : plan_(plan),
        stack_(plan.model->Text()),
        store_(*program_.store),
        before_(BeforeFrame(plan, false)),
        after_(AfterFrame(plan, false)) {
    for (const spec::LayerKind& kind : stack_.kinds) {
      layers_.emplace_back(plan, kind.tensors, 0, 0, false);
    }
  }

  program::Program Build() {
    program::RankProgram rank;
    rank.count = plan_.parallel.data;
    rank.phases.push_back({Phase::kLoad, EveryFrame([this](const Frame& frame) {
                             return RecordLoad(frame, plan_, store_);
                           })});
    rank.phases.push_back({Phase::kInit, EveryFrame([this](const Frame& frame) {
                             return RecordAdapters(frame, store_);
                           })});
    rank.phases.push_back({Phase::kFirstStep, Step(true)});
    rank.phases.push_back({Phase::kSteadyStep, Step(false)});
    program_.ranks.push_back(std::move(rank));
    return std::move(program_);
  }

 private:
  // record(frame) for the ends and each layer, in the order of the module's parameters.
  template <typename Record>
  const Segment* EveryFrame(Record record) {
    std::vector<Child> children = {{record(before_), 0}};
    std::vector<const Segment*> by_kind;
    for (const Frame& layer : layers_) by_kind.push_back(record(layer));
    std::int32_t at = 1;
    for (const spec::LayerRun& run : stack_.runs) {
      const Segment* segment = by_kind[static_cast<std::size_t>(run.kind)];
      children.push_back({store_.Repeat({segment, at}, run.count, 1), 0});
      at += static_cast<std::int32_t>(run.count);
    }
    children.push_back({record(after_), 0});
    return store_.Sequence(std::move(children));
  }

  struct Recorded {
    EndSegments embedding;
    EndSegments head;
    BlockSegments first;                // layer 1 when its input wants no gradient
    std::vector<BlockSegments> blocks;  // by kind
    bool first_differs = false;
  };

  Recorded RecordAll(bool has_gradients) {
    Recorded recorded;
    recorded.embedding = RecordEmbedding(plan_, store_, has_gradients);
    recorded.head = RecordHead(plan_, store_, has_gradients);
    for (const spec::LayerKind& kind : stack_.kinds) {
      recorded.blocks.push_back(RecordBlock(plan_, kind, store_, true, has_gradients));
    }
    recorded.first_differs = !InputWantsGradient(plan_);
    if (recorded.first_differs) {
      const auto kind = static_cast<std::size_t>(stack_.runs.front().kind);
      recorded.first = RecordBlock(plan_, stack_.kinds[kind], store_, false, has_gradients);
    }
    return recorded;
  }

  // member of every block in order of execution (or reversed), layer 1 apart where it differs.
  std::vector<Child> Blocks(const Recorded& recorded, const Segment* BlockSegments::* member,
                            bool reversed) {
    std::vector<Child> children;
    std::int32_t at = 1;
    for (const spec::LayerRun& run : stack_.runs) {
      const Segment* segment = recorded.blocks[static_cast<std::size_t>(run.kind)].*member;
      std::int64_t count = run.count;
      if (at == 1 && recorded.first_differs) {
        children.push_back({recorded.first.*member, at++});
        --count;
      }
      if (count == 0) continue;
      const auto last = at + static_cast<std::int32_t>(count) - 1;
      children.push_back({reversed ? store_.Repeat({segment, last}, count, -1)
                                   : store_.Repeat({segment, at}, count, 1),
                          0});
      at = last + 1;
    }
    if (reversed) std::reverse(children.begin(), children.end());
    return children;
  }

  const Segment* MicroStep(const Recorded& recorded) {
    const auto end = static_cast<std::int32_t>(stack_.Layers()) + 1;
    std::vector<Child> children = {{recorded.embedding.forward, 0}};
    const auto append = [&children](std::vector<Child> more) {
      children.insert(children.end(), more.begin(), more.end());
    };
    append(Blocks(recorded, &BlockSegments::forward, false));
    children.push_back({recorded.head.forward, end});
    children.push_back({recorded.embedding.exit_autocast, 0});
    append(Blocks(recorded, &BlockSegments::exit_autocast, false));
    children.push_back({recorded.head.exit_autocast, end});
    children.push_back({recorded.head.backward, end});
    append(Blocks(recorded, &BlockSegments::backward, true));
    children.push_back({recorded.embedding.backward, 0});
    return store_.Sequence(std::move(children));
  }

  // Accumulation: the first micro-step makes the gradients, the others add to them.
  const Segment* Accumulate() {
    if (accumulated_ != nullptr) return accumulated_;
    std::vector<Child> children = {{MicroStep(RecordAll(false)), 0}};
    if (plan_.gradient_accumulation > 1) {
      const Segment* later = MicroStep(RecordAll(true));
      children.push_back({store_.Repeat({later, 0}, plan_.gradient_accumulation - 1, 0), 0});
    }
    accumulated_ = store_.Sequence(std::move(children));
    return accumulated_;
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
    add([this](const Frame& f) { return RecordZeroGrad(f, store_); });
    return store_.Sequence(std::move(children));
  }

  const plan::Plan& plan_;
  const spec::Stack& stack_;
  program::Program program_;
  program::SegmentStore& store_;
  Frame before_;
  Frame after_;
  std::vector<Frame> layers_;
  const Segment* accumulated_ = nullptr;
};

}  // namespace

program::Program BuildTrainer(const plan::Plan& plan) { return TrainerBuilder(plan).Build(); }

}  // namespace trainfit::frameworks::huggingface
