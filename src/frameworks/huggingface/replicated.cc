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

// Gradients are copied into buckets as they appear, and those summed over the replicas beside the
// backward pass (reducer.cpp, mark_variable_ready_dense, bucket_cap_mb = 25).
const Segment* RecordDdpReduce(std::initializer_list<const Frame*> frames,
                               program::SegmentStore& store) {
  constexpr Bytes kBucket = 25 * kMiB;
  program::Tape tape;
  Bytes bytes;
  std::int64_t tensors = 0;
  for (const Frame* frame : frames) {
    for (const Trained& t : TrainedTensors(*frame)) {
      bytes += Bytes(t.elements * spec::ElementBytes(t.dtype));
      ++tensors;
    }
  }
  if (tensors > 0) {
    tape.Run({.kernel = program::KernelClass::kCopy,
              .label = "gradients into buckets",
              .moved = 2 * bytes,
              .kernels = tensors});
    tape.Wait(program::Stream::kReduceScatter, program::Stream::kCompute);
    const std::int64_t buckets = CeilDiv(bytes.value(), kBucket.value());
    for (std::int64_t i = 0; i < buckets; ++i) {
      tape.Exchange(program::Collective::kAllReduce, program::Group::kData, "all-reduce",
                    Bytes(bytes.value() / buckets), program::Stream::kReduceScatter);
    }
  }
  tape.Cut();
  return tape.Finish(store).front();
}

class Replicated : public Sharding {
 public:
  explicit Replicated(const ModelFrames& frames) : frames_(frames) {
    if (frames.plan().optimizer_in_backward) {
      for (const Frame& layer : frames.layers()) update_layer_.push_back(UpdateAlone(layer));
      update_before_ = UpdateAlone(frames.before());
      update_after_ = UpdateAlone(frames.after());
    }
    if (!IsDdp()) return;
    for (const Frame& layer : frames.layers()) {
      reduce_layer_.push_back(RecordDdpReduce({&layer}, frames.store()));
    }
    reduce_ends_ = RecordDdpReduce({&frames.before(), &frames.after()}, frames.store());
    program::Tape tape;
    tape.Wait(program::Stream::kCompute, program::Stream::kReduceScatter);
    tape.Cut();
    wait_ = tape.Finish(frames.store()).front();
  }

  void AppendInit(Children& children) override {
    if (!IsDdp() || frames_.plan().gradients_view_buckets) return;
    children.push_back({frames_.EveryFrame([this](const Frame& frame) {
                          return RecordDdpBuckets(frame, frames_.store());
                        }),
                        0});
  }
  void BeginForward(Children&) override {}
  const Segment* Forward(const Position&, const Segment* forward) override { return forward; }
  void EndForward(Children&) override {}
  const Segment* Backward(const Position& p, const Segment* backward, Round round) override {
    if (UpdatesEarly()) {
      Children children;
      if (p.after == kNoLayer) children.push_back({update_after_, 0});
      children.push_back({backward, 0});
      children.push_back({update_layer_[static_cast<std::size_t>(p.kind)], 0});
      return frames_.store().Sequence(std::move(children));
    }
    if (!IsDdp() || !round.sync) return backward;
    return frames_.store().Sequence(
        {{backward, 0}, {reduce_layer_[static_cast<std::size_t>(p.kind)], 0}});
  }
  void EndBackward(Children& children, Round round) override {
    if (UpdatesEarly()) children.push_back({update_before_, 0});
    if (!IsDdp() || !round.sync) return;
    children.push_back({reduce_ends_, 0});
    children.push_back({wait_, 0});
  }

  void AppendUpdate(Children& children, bool is_first) override {
    // States appear while the first backward pass runs; from the second step on they are there.
    if (UpdatesEarly()) {
      if (!is_first) return;
      children.push_back({frames_.EveryFrame([this](const Frame& frame) {
                            return RecordStates(frame, frames_.plan(), frames_.store());
                          }),
                          0});
      return;
    }
    AppendPlainUpdate(frames_, children, is_first);
    children.push_back({frames_.EveryFrame([this](const Frame& frame) {
                          return RecordZeroGrad(frame, frames_.store());
                        }),
                        0});
  }

 private:
  // torchtune training/memory.py register_optim_in_bwd_hooks: step and zero_grad as soon as a
  // gradient is there. Here: once a layer has all of its gradients.
  const Segment* UpdateAlone(const Frame& frame) const {
    program::SegmentStore& store = frames_.store();
    return store.Sequence(
        {{RecordUpdate(frame, frames_.plan(), store), 0}, {RecordZeroGrad(frame, store), 0}});
  }
  bool UpdatesEarly() const { return frames_.plan().optimizer_in_backward; }

  bool IsDdp() const { return frames_.plan().parallel.sharding == spec::Sharding::kDdp; }

  const ModelFrames& frames_;
  std::vector<const Segment*> reduce_layer_;  // by kind
  const Segment* reduce_ends_ = nullptr;
  const Segment* wait_ = nullptr;
  std::vector<const Segment*> update_layer_;  // by kind
  const Segment* update_before_ = nullptr;
  const Segment* update_after_ = nullptr;
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
  const auto wait = [&](program::Stream stream, program::Stream awaited) {
    program::Tape tape;
    tape.Wait(stream, awaited);
    tape.Cut();
    children.push_back({tape.Finish(store).front(), 0});
  };
  using program::Stream;
  if (plan.offload_shards) wait(Stream::kCopy, Stream::kReduceScatter);
  add([&](const Frame& f) { return RecordClip(f, store); });
  add([&](const Frame& f) { return RecordForeachTemporaries(f, plan, store, true); });
  add([&](const Frame& f) { return RecordUpdate(f, plan, store); });
  add([&](const Frame& f) { return RecordForeachTemporaries(f, plan, store, false); });
  if (plan.offload_shards) wait(Stream::kCompute, Stream::kCopy);
}

}  // namespace trainfit::frameworks::huggingface
