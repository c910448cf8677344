#include "frameworks/huggingface/sharding.h"
#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Segment;

constexpr std::int32_t kDdpBuckets = program::kGradientSlots + (1 << 14);

// torch/csrc/distributed/c10d/reducer.cpp: with gradient_as_bucket_view=False the flat buckets
// exist beside the gradients, from wrapping on.
const Segment* RecordDdpBuckets(const Frame& frame, program::SegmentStore& store) {
  program::Tape tape;
  for (const Trained& t : TrainedTensors(frame)) {
    const program::Slot slot{frame.GradientSlot(t.number).frame,
                             kDdpBuckets + frame.Unique(t.number)};
    tape.AllocSlot(slot, Bytes(t.elements * spec::ElementBytes(t.dtype)),
                   program::Role::kCommunication, "DDP buckets");
  }
  tape.Cut();
  return tape.Finish(store).front();
}

class Replicated : public Sharding {
 public:
  explicit Replicated(const ModelFrames& frames) : frames_(frames) {}

  void AppendInit(Children& children) override {
    if (frames_.plan().parallel.sharding != spec::Sharding::kDdp) return;
    children.push_back({frames_.EveryFrame([this](const Frame& frame) {
                          return RecordDdpBuckets(frame, frames_.store());
                        }),
                        0});
  }
  void BeginForward(Children&) override {}
  const Segment* Forward(const Position&, const Segment* forward) override { return forward; }
  void EndForward(Children&) override {}
  const Segment* Backward(const Position&, const Segment* backward, Round) override {
    return backward;
  }
  void EndBackward(Children&, Round) override {}

  void AppendUpdate(Children& children, bool is_first) override {
    AppendPlainUpdate(frames_, children, is_first);
    children.push_back({frames_.EveryFrame([this](const Frame& frame) {
                          return RecordZeroGrad(frame, frames_.store());
                        }),
                        0});
  }

 private:
  const ModelFrames& frames_;
};

}  // namespace

std::unique_ptr<Sharding> MakeReplicated(const ModelFrames& frames) {
  return std::make_unique<Replicated>(frames);
}

void AppendPlainUpdate(const ModelFrames& frames, Children& children, bool is_first) {
  const plan::Plan& plan = frames.plan();
  program::SegmentStore& store = frames.store();
  const auto add = [&](const ModelFrames::Record& record) {
    children.push_back({frames.EveryFrame(record), 0});
  };
  if (is_first) {
    add([&](const Frame& f) { return RecordStates(f, plan, store); });
  }
  add([&](const Frame& f) { return RecordForeachTemporaries(f, plan, store, true); });
  add([&](const Frame& f) { return RecordUpdate(f, plan, store); });
  add([&](const Frame& f) { return RecordForeachTemporaries(f, plan, store, false); });
}

}  // namespace trainfit::frameworks::huggingface
