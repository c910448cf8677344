// FSDP1 (FullyShardedDataParallel, FULL_SHARD or SHARD_GRAD_OP) with one unit a layer, everything
// else the root.
//
// A unit's parameters are views of one FlatParameter, of which a rank holds an equal piece. Order
// and lifetimes are those of torch 2.4 torch/distributed/fsdp:
//   - _runtime_utils.py _pre_forward_unshard, _post_forward_reshard, _pre_backward_hook: the whole
//     flat parameter is there while the unit computes; the root's from the start of forward to the
//     end of backward;
//   - torch.split's backward lays the gradients of a unit's parameters end to end once all are
//     there; _post_backward_hook drops the parameters, then reduces that flat gradient;
//   - without a sync the flat gradient stays as it is and the next one is added to it.
#include <algorithm>
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

constexpr Slot kFrozenFlat{0, program::kBoundarySlots + 2};
constexpr Slot kTrainedFlat{0, program::kBoundarySlots + 3};
constexpr Slot kFlatGradient{0, program::kBoundarySlots + 4};
constexpr Slot kShardedGradient{0, program::kBoundarySlots + 5};
constexpr Slot kPassing{0, program::kBoundarySlots + 6};  // lives inside one leaf
constexpr Slot kReduceInput{0, program::kBoundarySlots + 7};
constexpr Slot kHostGradient{0, program::kBoundarySlots + 10};
constexpr std::int32_t kInFlight = program::kWeightSlots + (1 << 14);

// What happens to one unit, each a leaf at the unit's frame.
struct Unit {
  const Segment* gather = nullptr;         // the whole flat parameters appear
  const Segment* wait = nullptr;           // computation goes on once they are there
  const Segment* reshard = nullptr;        // they disappear
  const Segment* flatten = nullptr;        // the parameters' gradients → the flat gradient
  const Segment* add = nullptr;            // … → added to the flat gradient that is there
  const Segment* reduce = nullptr;         // the flat gradient → its shard
  const Segment* reduce_more = nullptr;    // … → added to the shard that is there
  const Segment* zero_grad = nullptr;      // the shard disappears
  const Segment* host_gradient = nullptr;  // room for it on the host appears, for good
  Bytes whole;
};

struct Gradient {
  Slot slot;
  Bytes bytes;
  const char* label = "";
};

class UnitRecorder {
 public:
  UnitRecorder(std::span<const Frame* const> frames, program::SegmentStore& store)
      : plan_(frames.front()->plan()), store_(store) {
    for (const Frame* frame : frames) AddFrame(*frame);
  }

  Unit Record() {
    Unit unit;
    unit.whole = frozen_ + trained_;
    unit.gather = Leaf([&](Tape& tape) { Gather(tape); });
    unit.wait = Leaf([&](Tape& tape) { tape.Wait(Stream::kCompute, Stream::kAllGather); });
    unit.reshard = Leaf([&](Tape& tape) {
      Free(tape, kFrozenFlat, frozen_, Role::kCommunication, "unsharded weights",
           Stream::kAllGather);
      Free(tape, kTrainedFlat, trained_, Role::kCommunication, "unsharded weights",
           Stream::kAllGather);
    });
    unit.flatten = Leaf([&](Tape& tape) { Flatten(tape, kFlatGradient); });
    unit.add = Leaf([&](Tape& tape) {
      Flatten(tape, kPassing);
      tape.Run(program::KernelClass::kElementwise, "accumulate gradient", Flops(), 3 * gradient_);
      Free(tape, kPassing, gradient_, Role::kGradients, "unsharded gradients", Stream::kCompute);
    });
    unit.reduce = Leaf([&](Tape& tape) { Reduce(tape, false); });
    unit.reduce_more = Leaf([&](Tape& tape) { Reduce(tape, true); });
    unit.zero_grad = Leaf([&](Tape& tape) {
      Free(tape, kShardedGradient, sharded_, Role::kGradients, "sharded gradients",
           Stream::kReduceScatter);
    });
    // _flat_param.py init_flat_param_attributes: _cpu_grad is as large as the shard, frozen or not.
    unit.host_gradient = Leaf([&](Tape& tape) {
      if (!plan_.offload_shards || held_ == Bytes()) return;
      tape.AllocSlot(kHostGradient, held_, Role::kGradients, "gradients on the host",
                     Place::kPinned);
    });
    return unit;
  }

 private:
  void AddFrame(const Frame& frame) {
    const auto words = [&](std::int32_t, Bytes bytes) {
      const Bytes whole = Padded(bytes.value(), 1);
      frozen_ += whole;
      held_ += PerRank(whole);
    };
    ForEachUnitTensor(frame, words, [&](std::int32_t, const program::Leaf& leaf, Dtype stored) {
      Add(leaf, stored);
    });
  }

  Bytes PerRank(Bytes whole) const { return Bytes(whole.value() / plan_.parallel.data); }

  Bytes Padded(std::int64_t elements, std::int64_t element_bytes) const {
    return Bytes(CeilDiv(elements, plan_.parallel.data) * plan_.parallel.data * element_bytes);
  }

  // A unit with any trained parameter computes the gradient of all of its flat parameter.
  void Add(const program::Leaf& leaf, Dtype stored) {
    const std::int64_t elements = leaf.shape.rows * leaf.shape.cols;
    const Bytes whole = Padded(elements, spec::ElementBytes(leaf.dtype));
    held_ += PerRank(Padded(elements, spec::ElementBytes(stored)));
    if (!leaf.trainable) {
      frozen_ += whole;
      return;
    }
    trained_ += whole;
    const std::int64_t shard = CeilDiv(elements, plan_.parallel.data);
    if (leaf.dtype != stored) cast_ += Bytes(shard * spec::ElementBytes(leaf.dtype));
    gradients_.push_back(
        {leaf.gradient, Bytes(elements * spec::ElementBytes(leaf.dtype)), leaf.label});
    gradient_ += gradients_.back().bytes;
    const Dtype reduced = ReduceDtype(plan_, leaf.dtype);
    reduced_ += Bytes(elements * spec::ElementBytes(reduced));
    reduced_shard_ += Bytes(shard * spec::ElementBytes(reduced));
    sharded_ += Bytes(shard * spec::ElementBytes(stored));
  }

  template <typename Body>
  const Segment* Leaf(Body body) {
    return RecordLeaf(store_, body);
  }

  static void Alloc(Tape& tape, Slot slot, Bytes bytes, Role role, const char* label,
                    Stream stream) {
    if (bytes > Bytes()) tape.AllocSlot(slot, bytes, role, label, Place::kGpu, stream);
  }
  static void Free(Tape& tape, Slot slot, Bytes bytes, Role role, const char* label,
                   Stream stream) {
    if (bytes > Bytes()) tape.FreeSlot(slot, bytes, role, label, Place::kGpu, stream);
  }

  // _flat_param.py pre_unshard, unshard, post_unshard: shards that are held in another type are
  // cast first, and the cast goes once it has been gathered. Shards on the host are copied
  // (pre_unshard: flat_param_to the device, or _use_low_precision_shard).
  void Gather(Tape& tape) {
    const Bytes cast = plan_.offload_shards ? PerRank(frozen_ + trained_) : cast_;
    Alloc(tape, kPassing, cast, Role::kCommunication, "cast of the shard", Stream::kCopy);
    if (plan_.offload_shards) {
      tape.Run(program::KernelClass::kCopy, "shards to the GPU", Flops(), cast, {}, Stream::kCopy);
      tape.Wait(Stream::kAllGather, Stream::kCopy);
    }
    Alloc(tape, kFrozenFlat, frozen_, Role::kCommunication, "unsharded weights",
          Stream::kAllGather);
    Alloc(tape, kTrainedFlat, trained_, Role::kCommunication, "unsharded weights",
          Stream::kAllGather);
    tape.Exchange(program::Collective::kAllGather, program::Group::kData, "all-gather",
                  frozen_ + trained_, Stream::kAllGather);
    Free(tape, kPassing, cast, Role::kCommunication, "cast of the shard", Stream::kCopy);
  }

  void Flatten(Tape& tape, Slot flat) {
    Alloc(tape, flat, gradient_, Role::kGradients, "unsharded gradients", Stream::kCompute);
    for (const Gradient& g : gradients_) {
      tape.FreeSlot(g.slot, g.bytes, Role::kGradients, g.label);
    }
  }

  // _reduce_grad, _accumulate_sharded_grad: the flat gradient is held until the end of the hook,
  // beside its copy in the reduce dtype if that is another.
  void Reduce(Tape& tape, bool is_there) {
    if (gradient_ == Bytes()) return;
    constexpr Stream kStream = Stream::kReduceScatter;
    const bool casts = reduced_ != gradient_;
    const bool casts_back = reduced_shard_ != sharded_;
    tape.Wait(kStream, Stream::kCompute);
    if (casts) {
      Alloc(tape, kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input", kStream);
    }
    const Slot output = casts_back || is_there ? kPassing : kShardedGradient;
    const Role role = output == kPassing ? Role::kCommunication : Role::kGradients;
    const char* label = output == kPassing ? "reduce-scatter output" : "sharded gradients";
    Alloc(tape, output, reduced_shard_, role, label, kStream);
    tape.Exchange(program::Collective::kReduceScatter, program::Group::kData, "reduce-scatter",
                  reduced_, kStream);
    if (casts_back && !is_there) {
      Alloc(tape, kShardedGradient, sharded_, Role::kGradients, "sharded gradients", kStream);
    }
    if (output == kPassing) Free(tape, output, reduced_shard_, role, label, kStream);
    if (casts) {
      Free(tape, kReduceInput, reduced_, Role::kCommunication, "reduce-scatter input", kStream);
    }
    Free(tape, kFlatGradient, gradient_, Role::kGradients, "unsharded gradients", Stream::kCompute);
    if (plan_.offload_shards) {  // _offload_grad
      tape.Run(program::KernelClass::kCopy, "gradients to the host", Flops(), sharded_, {},
               kStream);
    }
  }

  const plan::Plan& plan_;
  program::SegmentStore& store_;
  Bytes frozen_;  // flat parameters as gathered, padded to the ranks
  Bytes trained_;
  Bytes held_;           // the shard as it lies between steps
  Bytes cast_;           // shard in the compute dtype, where that is another
  Bytes gradient_;       // flat, in the compute dtype
  Bytes reduced_;        // flat, in the reduce dtype
  Bytes reduced_shard_;  // in the reduce dtype
  Bytes sharded_;        // in the parameter's own dtype
  std::vector<Gradient> gradients_;
};

// Reentrant checkpointing around a unit runs the unit's forward anew in backward.
bool RunsUnitAnew(const plan::Plan& plan) {
  return plan.checkpointing != spec::Checkpointing::kNone &&
         plan.facts.Is(plan::Fact::kCheckpointReentrant) &&
         !plan.facts.Is(plan::Fact::kCheckpointInsideUnit);
}

class Fsdp1 : public Sharding {
 public:
  explicit Fsdp1(const ModelFrames& frames)
      : frames_(frames),
        store_(frames.store()),
        units_(RecordUnits<Unit, UnitRecorder>(frames)),
        root_(units_.root),
        runs_unit_anew_(RunsUnitAnew(frames.plan())) {}

  bool AccumulatesInPlace() const override { return false; }

  // The rate limiter (_limiter_utils.py) lets two freed units wait for the computation that still
  // reads them, so that the next one needs a buffer of its own; with a prefetch in backward there
  // is one more. The allocator keeps what that once took. Nothing else is as high as this here.
  void AppendInit(Children& children) override {
    Bytes largest;
    for (const Unit& unit : units_.layers) largest = std::max(largest, unit.whole);
    const std::int32_t buffers = runs_unit_anew_ ? 2 : 3;
    Tape tape;
    for (const bool allocate : {true, false}) {
      for (std::int32_t i = 0; i < buffers; ++i) {
        const Slot slot{program::kSharedFrame, kInFlight + i};
        if (allocate) {
          tape.AllocSlot(slot, largest, Role::kCommunication, "units in flight", Place::kGpu,
                         Stream::kAllGather);
        } else {
          tape.FreeSlot(slot, largest, Role::kCommunication, "units in flight", Place::kGpu,
                        Stream::kAllGather);
        }
      }
    }
    tape.Cut();
    children.push_back({tape.Finish(store_).front(), 0});
    children.push_back({root_.host_gradient, 0});
    frames_.AppendLayers(children, false,
                         [this](const Position& p) { return UnitOf(p.kind).host_gradient; });
  }

  void BeginForward(Children& children) override {
    children.push_back({root_.gather, 0});
    children.push_back({root_.wait, 0});
  }

  const Segment* Forward(const Position& p, const Segment* forward) override {
    const Unit& unit = UnitOf(p.kind);
    if (!frames_.plan().reshard_after_forward) {
      return store_.Sequence({{unit.gather, 0}, {unit.wait, 0}, {forward, 0}});
    }
    return store_.Sequence({{unit.gather, 0}, {unit.wait, 0}, {forward, 0}, {unit.reshard, 0}});
  }

  void EndForward(Children&) override {}

  // A unit that runs anew drops its parameters at the end of that forward, and so gathers twice;
  // its first forward gave no gradients, so that nothing is prefetched (_get_handle_to_prefetch,
  // _needs_pre_backward_unshard).
  const Segment* Backward(const Position& p, const Segment* backward, Round round) override {
    const Unit& unit = UnitOf(p.kind);
    Children children;
    if (!frames_.plan().reshard_after_forward) {
      // SHARD_GRAD_OP: there since forward
    } else if (runs_unit_anew_) {
      children.push_back({unit.gather, 0});
      children.push_back({unit.wait, 0});
      children.push_back({unit.reshard, 0});
      children.push_back({unit.gather, 0});
    } else {
      if (p.after == kNoLayer) children.push_back({unit.gather, 0});
      children.push_back({unit.wait, 0});
      if (p.before != kNoLayer) children.push_back({UnitOf(p.before).gather, -1});
    }
    children.push_back({backward, 0});
    Finish(unit, unit.reshard, round, children);
    return store_.Sequence(std::move(children));
  }

  void EndBackward(Children& children, Round round) override {
    Finish(root_, root_.reshard, round, children);
    // _flat_param.py prepare_gradient_for_optim: the one on the host takes its place.
    if (round.sync && Offloads()) ZeroGrad(children);
  }

  // With use_orig_params zero_grad cannot reach the flat gradients; they go in the next forward
  // (_clear_grads_if_needed), where nothing else has been made yet.
  void AppendUpdate(Children& children, bool is_first) override {
    AppendPlainUpdate(frames_, children, is_first);
    if (!Offloads()) ZeroGrad(children);
  }

 private:
  bool Offloads() const { return frames_.plan().offload_shards; }
  void ZeroGrad(Children& children) const {
    children.push_back({root_.zero_grad, 0});
    frames_.AppendLayers(children, false,
                         [this](const Position& p) { return UnitOf(p.kind).zero_grad; });
  }
  const Unit& UnitOf(std::int32_t kind) const {
    return units_.layers[static_cast<std::size_t>(kind)];
  }

  void Finish(const Unit& unit, const Segment* reshard, Round round, Children& children) const {
    const bool syncs_each = frames_.plan().facts.Is(plan::Fact::kSyncEachMicroStep);
    const bool is_flat_there = !round.is_first && !syncs_each;
    children.push_back({is_flat_there ? unit.add : unit.flatten, 0});
    children.push_back({reshard, 0});
    if (!round.sync) return;
    children.push_back({!round.is_first && syncs_each ? unit.reduce_more : unit.reduce, 0});
  }

  const ModelFrames& frames_;
  program::SegmentStore& store_;
  Units<Unit> units_;
  const Unit& root_;
  bool runs_unit_anew_ = false;
};

}  // namespace

std::unique_ptr<Sharding> MakeFsdp1(const ModelFrames& frames) {
  return std::make_unique<Fsdp1>(frames);
}

bool HoldsInputs(const plan::Plan& plan, Dtype stream) {
  const bool is_frozen =
      plan.method != spec::Method::kFull && plan.facts.Is(plan::Fact::kAdapterUnits);
  // A cast of the input (_cast_forward_inputs) is no leaf: its gradient is not kept.
  const bool is_cast = IsMixed(plan) && stream == Dtype::kFp32;
  return plan.parallel.sharding == spec::Sharding::kFsdp1 && RunsUnitAnew(plan) && is_frozen &&
         !is_cast && plan.facts.Is(plan::Fact::kFrozenUnitsHoldInputs);
}

}  // namespace trainfit::frameworks::huggingface
