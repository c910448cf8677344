#include "frameworks/huggingface/fsdp2.h"

#include "frameworks/huggingface/quantization.h"
#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Place;
using program::Role;
using program::Segment;
using program::Slot;
using program::Stream;
using program::Tape;
using spec::Dtype;

constexpr Slot kGather{0, program::kBoundarySlots + 2};
constexpr Slot kReduceInput{0, program::kBoundarySlots + 3};
constexpr Slot kShardedGradients{0, program::kBoundarySlots + 4};
constexpr std::int32_t kUnsharded = program::kWeightSlots + (1 << 14);
constexpr std::int32_t kDdpBuckets = program::kGradientSlots + (1 << 14);

// One parameter of the unit, whole.
struct Whole {
  Slot slot;
  Slot gradient;
  Bytes bytes;           // as gathered, padded to the ranks
  Bytes gradient_bytes;  // 0: frozen
  Bytes shard_gradient;  // in the parameter's own dtype
  const char* label = "";
};

class UnitRecorder {
 public:
  UnitRecorder(std::span<const Frame* const> frames, program::SegmentStore& store)
      : plan_(frames.front()->plan()), store_(store) {
    for (const Frame* frame : frames) AddFrame(*frame);
    for (const Whole& whole : parameters_) {
      gathered_ += whole.bytes;
      reduced_ += whole.gradient_bytes;
      sharded_gradients_ += whole.shard_gradient;
    }
  }

  FsdpUnit Record() {
    FsdpUnit unit;
    unit.gather = Leaf([&](Tape& tape) { Gather(tape); });
    unit.free_gather = Leaf([&](Tape& tape) {
      tape.FreeSlot(kGather, gathered_, Role::kCommunication, "gather buffer");
    });
    unit.copy_out = Leaf([&](Tape& tape) {
      for (const Whole& w : parameters_) {
        tape.AllocSlot(w.slot, w.bytes, Role::kCommunication, "unsharded parameters");
      }
    });
    unit.reshard = Leaf([&](Tape& tape) {
      for (const Whole& w : parameters_) {
        tape.FreeSlot(w.slot, w.bytes, Role::kCommunication, "unsharded parameters");
      }
    });
    unit.reduce = Leaf([&](Tape& tape) { Reduce(tape); });
    unit.free_reduce_input = Leaf([&](Tape& tape) {
      if (reduced_ == Bytes()) return;
      tape.FreeSlot(kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input");
    });
    unit.zero_grad = Leaf([&](Tape& tape) {
      if (reduced_ == Bytes()) return;
      tape.FreeSlot(kShardedGradients, sharded_gradients_, Role::kGradients, "sharded gradients");
    });
    return unit;
  }

 private:
  void AddFrame(const Frame& frame) {
    for (std::int32_t i = 0; i < frame.size(); ++i) {
      const spec::TensorSpec& tensor = frame.tensor(i);
      if (frame.held(i).quantized_4bit) {
        const Bytes packed = FourBitSize(tensor.Elements(), false).packed;
        parameters_.push_back({UnshardedSlot(frame, i), {}, packed, {}, {}, "packed weights"});
      } else {
        Add(frame, i, frame.WeightLeaf(i), frame.held(i).dtype);
      }
      if (frame.held(i).lora_rank == 0) continue;
      for (const bool is_b : {false, true}) {
        Add(frame, Frame::AdapterNumber(i, is_b), frame.AdapterLeaf(i, is_b), plan_.adapter_dtype);
      }
    }
  }

  static Slot UnshardedSlot(const Frame& frame, std::int32_t number) {
    return {0, kUnsharded + frame.Unique(number)};
  }

  void Add(const Frame& frame, std::int32_t number, const program::Leaf& leaf, Dtype stored) {
    const std::int64_t shard = ShardRows(plan_, leaf.shape.rows) * leaf.shape.cols;
    const std::int64_t padded = shard * plan_.parallel.data;
    Whole whole;
    whole.slot = UnshardedSlot(frame, number);
    whole.gradient = leaf.gradient;
    whole.bytes = Bytes(padded * spec::ElementBytes(leaf.dtype));
    if (leaf.trainable) {
      whole.gradient_bytes =
          Bytes(leaf.shape.rows * leaf.shape.cols * spec::ElementBytes(leaf.dtype));
      whole.shard_gradient = Bytes(shard * spec::ElementBytes(stored));
    }
    whole.label = leaf.label;
    parameters_.push_back(whole);
  }

  template <typename Body>
  const Segment* Leaf(Body body) {
    Tape tape;
    body(tape);
    tape.Cut();
    return tape.Finish(store_).front();
  }

  // The shards are cast into the compute dtype first; the buffer holds all ranks' shards.
  void Gather(Tape& tape) {
    tape.AllocSlot(kGather, gathered_, Role::kCommunication, "gather buffer");
    const Bytes cast(gathered_.value() / plan_.parallel.data);
    if (plan_.autocast && reduced_ > Bytes()) {
      const program::Tensor shard = tape.NewBytes(cast, Role::kCommunication, "cast of the shard",
                                                  Place::kGpu, Stream::kAllGather);
    }
    tape.Run(program::KernelClass::kCollective, "all-gather", Flops(), gathered_, {},
             Stream::kAllGather);
  }

  // foreach_reduce: copy-in, gradients freed, reduce-scatter, cast to the parameter's dtype.
  void Reduce(Tape& tape) {
    if (reduced_ == Bytes()) return;
    tape.AllocSlot(kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input");
    for (const Whole& w : parameters_) {
      if (w.gradient_bytes == Bytes()) continue;
      tape.FreeSlot(w.gradient, w.gradient_bytes, Role::kGradients, w.label);
    }
    const program::Tensor output =
        tape.NewBytes(Bytes(CeilDiv(reduced_.value(), plan_.parallel.data)), Role::kCommunication,
                      "reduce-scatter output", Place::kGpu, Stream::kReduceScatter);
    tape.Run(program::KernelClass::kCollective, "reduce-scatter", Flops(), reduced_, {},
             Stream::kReduceScatter);
    tape.AllocSlot(kShardedGradients, sharded_gradients_, Role::kGradients, "sharded gradients");
  }

  const plan::Plan& plan_;
  program::SegmentStore& store_;
  std::vector<Whole> parameters_;
  Bytes gathered_;
  Bytes reduced_;
  Bytes sharded_gradients_;
};

}  // namespace

FsdpUnit RecordFsdpUnit(std::span<const Frame* const> frames, program::SegmentStore& store) {
  return UnitRecorder(frames, store).Record();
}

const Segment* RecordDdpBuckets(const Frame& frame, program::SegmentStore& store) {
  Tape tape;
  for (const Trained& t : TrainedTensors(frame)) {
    const Slot slot{frame.GradientSlot(t.number).frame, kDdpBuckets + frame.Unique(t.number)};
    tape.AllocSlot(slot, Bytes(t.elements * spec::ElementBytes(t.dtype)), Role::kCommunication,
                   "DDP buckets");
  }
  tape.Cut();
  return tape.Finish(store).front();
}

}  // namespace trainfit::frameworks::huggingface
