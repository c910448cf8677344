// FSDP2 (fully_shard) as accelerate uses it: each layer is a unit, everything else the root unit.
//
// Order and lifetimes are those of torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:
// the gather buffer of a unit lives until the next unit has copied out (forward) or until its own
// copy-out (backward, where the next unit is prefetched); the input of a reduce-scatter lives until
// the next one starts; the root unit stays whole from the start of forward to the end of backward.
#include <span>

#include "frameworks/huggingface/fsdp_unit.h"
#include "frameworks/huggingface/sharding.h"
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
constexpr Slot kPassing{0, program::kBoundarySlots + 5};  // lives inside one leaf
constexpr std::int32_t kUnsharded = program::kWeightSlots + (1 << 14);

// What happens to one unit, each a leaf at the unit's frame.
struct Unit {
  const Segment* gather = nullptr;  // all-gather into one buffer
  const Segment* free_gather = nullptr;
  const Segment* copy_out = nullptr;     // whole parameters appear
  const Segment* reshard = nullptr;      // whole parameters disappear
  const Segment* reduce = nullptr;       // gradients → shard, the input buffer stays
  const Segment* reduce_more = nullptr;  // … → added to the shard that is there
  const Segment* free_reduce_input = nullptr;
  const Segment* zero_grad = nullptr;  // the shard of the gradients disappears
};

// One parameter of the unit, whole.
struct Whole {
  Slot slot;
  Slot gradient;
  Bytes bytes;           // as gathered, padded to the ranks
  Bytes gradient_bytes;  // 0: frozen
  Bytes reduced_bytes;   // in the reduce dtype
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
      reduced_ += whole.reduced_bytes;
      sharded_gradients_ += whole.shard_gradient;
    }
  }

  Unit Record() {
    Unit unit;
    unit.gather = Leaf([&](Tape& tape) { Gather(tape); });
    unit.free_gather = Leaf([&](Tape& tape) {
      tape.FreeSlot(kGather, gathered_, Role::kCommunication, "gather buffer", Place::kGpu,
                    Stream::kAllGather);
    });
    unit.copy_out = Leaf([&](Tape& tape) {
      tape.Wait(Stream::kCompute, Stream::kAllGather);
      tape.Run(program::KernelClass::kCopy, "copy-out", Flops(), 2 * gathered_);
      for (const Whole& w : parameters_) {
        tape.AllocSlot(w.slot, w.bytes, Role::kCommunication, "unsharded parameters");
      }
    });
    unit.reshard = Leaf([&](Tape& tape) {
      for (const Whole& w : parameters_) {
        tape.FreeSlot(w.slot, w.bytes, Role::kCommunication, "unsharded parameters");
      }
    });
    unit.reduce = Leaf([&](Tape& tape) { Reduce(tape, false); });
    unit.reduce_more = Leaf([&](Tape& tape) { Reduce(tape, true); });
    unit.free_reduce_input = Leaf([&](Tape& tape) {
      if (reduced_ == Bytes()) return;
      // _fsdp_param_group.py post_backward: before its input is freed.
      tape.Wait(Stream::kCompute, Stream::kReduceScatter);
      tape.FreeSlot(kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input",
                    Place::kGpu, ReduceInputStream());
    });
    unit.zero_grad = Leaf([&](Tape& tape) {
      if (reduced_ == Bytes()) return;
      tape.FreeSlot(kShardedGradients, sharded_gradients_, Role::kGradients, "sharded gradients",
                    GradientPlace(), Stream::kReduceScatter);
    });
    return unit;
  }

 private:
  void AddFrame(const Frame& frame) {
    const auto words = [&](std::int32_t i, Bytes bytes) {
      parameters_.push_back({UnshardedSlot(frame, i), {}, bytes, {}, {}, {}, "packed weights"});
    };
    ForEachUnitTensor(frame, words,
                      [&](std::int32_t number, const program::Leaf& leaf, Dtype stored) {
                        Add(frame, number, leaf, stored);
                      });
  }

  static Slot UnshardedSlot(const Frame& frame, std::int32_t number) {
    return {0, kUnsharded + frame.Unique(number)};
  }

  void Add(const Frame& frame, std::int32_t number, const program::Leaf& leaf, Dtype stored) {
    const std::int64_t shard = Elements(Shard(plan_, leaf.shape));
    const std::int64_t padded = shard * plan_.parallel.data;
    Whole whole;
    whole.slot = UnshardedSlot(frame, number);
    whole.gradient = leaf.gradient;
    whole.bytes = Bytes(padded * spec::ElementBytes(leaf.dtype));
    if (leaf.trainable) {
      const std::int64_t elements = leaf.shape.rows * leaf.shape.cols;
      whole.gradient_bytes = Bytes(elements * spec::ElementBytes(leaf.dtype));
      whole.reduced_bytes = Bytes(elements * spec::ElementBytes(ReduceDtype(plan_, leaf.dtype)));
      whole.shard_gradient = Bytes(shard * spec::ElementBytes(stored));
    }
    whole.label = leaf.label;
    parameters_.push_back(whole);
  }

  template <typename Body>
  const Segment* Leaf(Body body) {
    return RecordLeaf(store_, body);
  }

  // The unit's frame holds a layer's activations as well, so nothing here takes a recorded slot.
  void Pass(Tape& tape, Slot slot, Bytes bytes, const char* label, Stream stream) {
    tape.AllocSlot(slot, bytes, Role::kCommunication, label, Place::kGpu, stream);
    tape.FreeSlot(slot, bytes, Role::kCommunication, label, Place::kGpu, stream);
  }

  // foreach_reduce (_fsdp_collectives.py): to the host, where they are added up.
  Place GradientPlace() const { return plan_.offload_shards ? Place::kHost : Place::kGpu; }

  Stream ReduceInputStream() const {
    return plan_.facts.Is(plan::Fact::kReduceInputAside) ? Stream::kReduceScatter
                                                         : Stream::kCompute;
  }

  // The shards are cast into the compute dtype first; the buffer holds all ranks' shards.
  void Gather(Tape& tape) {
    tape.AllocSlot(kGather, gathered_, Role::kCommunication, "gather buffer", Place::kGpu,
                   Stream::kAllGather);
    const Bytes shard(gathered_.value() / plan_.parallel.data);
    if (plan_.offload_shards || (IsMixed(plan_) && reduced_ > Bytes())) {
      Pass(tape, kPassing, shard, "cast of the shard", Stream::kAllGather);
    }
    if (plan_.offload_shards) {  // _fsdp_param.py all_gather_inputs: to(device)
      tape.Run(program::KernelClass::kCopy, "shards to the GPU", Flops(), shard, {},
               Stream::kAllGather);
    }
    tape.Exchange(program::Collective::kAllGather, program::Group::kData, "all-gather", gathered_,
                  Stream::kAllGather);
  }

  // foreach_reduce: copy-in, gradients freed, reduce-scatter, cast to the parameter's dtype.
  void Reduce(Tape& tape, bool is_there) {
    if (reduced_ == Bytes()) return;
    tape.AllocSlot(kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input",
                   Place::kGpu, ReduceInputStream());
    for (const Whole& w : parameters_) {
      if (w.gradient_bytes == Bytes()) continue;
      tape.FreeSlot(w.gradient, w.gradient_bytes, Role::kGradients, w.label);
    }
    tape.Wait(Stream::kReduceScatter, Stream::kCompute);
    tape.Run(program::KernelClass::kCopy, "copy-in", Flops(), 2 * reduced_, {},
             Stream::kReduceScatter);
    const Bytes output(CeilDiv(reduced_.value(), plan_.parallel.data));
    tape.AllocSlot(kPassing, output, Role::kCommunication, "reduce-scatter output", Place::kGpu,
                   Stream::kReduceScatter);
    tape.Exchange(program::Collective::kReduceScatter, program::Group::kData, "reduce-scatter",
                  reduced_, Stream::kReduceScatter);
    if (!is_there) {
      tape.AllocSlot(kShardedGradients, sharded_gradients_, Role::kGradients, "sharded gradients",
                     GradientPlace(), Stream::kReduceScatter);
    }
    if (plan_.offload_shards) {
      tape.Run(program::KernelClass::kCopy, "gradients to the host", Flops(), sharded_gradients_,
               {}, Stream::kReduceScatter);
    }
    tape.FreeSlot(kPassing, output, Role::kCommunication, "reduce-scatter output", Place::kGpu,
                  Stream::kReduceScatter);
  }

  const plan::Plan& plan_;
  program::SegmentStore& store_;
  std::vector<Whole> parameters_;
  Bytes gathered_;
  Bytes reduced_;
  Bytes sharded_gradients_;
};

class Fsdp2 : public Sharding {
 public:
  explicit Fsdp2(const ModelFrames& frames)
      : frames_(frames),
        store_(frames.store()),
        units_(RecordUnits<Unit, UnitRecorder>(frames)),
        root_(units_.root) {}

  bool AccumulatesInPlace() const override { return !SyncsEach(); }

  void AppendInit(Children&) override {}

  void BeginForward(Children& children) override {
    children.push_back({root_.gather, 0});
    children.push_back({root_.copy_out, 0});
  }

  const Segment* Forward(const Position& p, const Segment* forward) override {
    const Unit& unit = UnitOf(p.kind);
    Children children = {
        {unit.gather, 0}, {UnitOf(p.before).free_gather, -1}, {unit.copy_out, 0}, {forward, 0}};
    if (Reshards()) children.push_back({unit.reshard, 0});
    return store_.Sequence(std::move(children));
  }

  // The root's post-forward drops the last layer's gather buffer.
  void EndForward(Children& children) override {
    children.push_back({UnitOf(frames_.Last().kind).free_gather, frames_.HeadFrame() - 1});
  }

  const Segment* Backward(const Position& p, const Segment* backward, Round round) override {
    const Unit& unit = UnitOf(p.kind);
    Children children;
    if (Reshards()) {
      if (p.after == kNoLayer) children.push_back({unit.gather, 0});
      children.push_back({unit.copy_out, 0});
      children.push_back({unit.free_gather, 0});
      if (p.before != kNoLayer) children.push_back({UnitOf(p.before).gather, -1});  // prefetch
    }
    children.push_back({backward, 0});
    children.push_back({unit.reshard, 0});
    if (round.sync) {
      if (p.after != kNoLayer) children.push_back({UnitOf(p.after).free_reduce_input, 1});
      children.push_back({ReduceOf(unit, round), 0});
    }
    return store_.Sequence(std::move(children));
  }

  void EndBackward(Children& children, Round round) override {
    children.push_back({root_.reshard, 0});
    if (!round.sync) return;
    children.push_back({UnitOf(frames_.First().kind).free_reduce_input, 1});
    children.push_back({ReduceOf(root_, round), 0});
    children.push_back({root_.free_reduce_input, 0});
  }

  void AppendUpdate(Children& children, bool is_first) override {
    AppendPlainUpdate(frames_, children, is_first);
    children.push_back({root_.zero_grad, 0});
    frames_.AppendLayers(children, false,
                         [this](const Position& p) { return UnitOf(p.kind).zero_grad; });
  }

 private:
  bool Reshards() const { return frames_.plan().reshard_after_forward; }
  bool SyncsEach() const { return frames_.plan().facts.Is(plan::Fact::kSyncEachMicroStep); }
  const Segment* ReduceOf(const Unit& unit, Round round) const {
    return SyncsEach() && !round.is_first ? unit.reduce_more : unit.reduce;
  }
  const Unit& UnitOf(std::int32_t kind) const {
    return kind == kNoLayer ? root_ : units_.layers[static_cast<std::size_t>(kind)];
  }

  const ModelFrames& frames_;
  program::SegmentStore& store_;
  Units<Unit> units_;
  const Unit& root_;
};

}  // namespace

std::unique_ptr<Sharding> MakeFsdp2(const ModelFrames& frames) {
  return std::make_unique<Fsdp2>(frames);
}

}  // namespace trainfit::frameworks::huggingface
