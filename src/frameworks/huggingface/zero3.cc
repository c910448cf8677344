// DeepSpeed ZeRO-3 (deepspeed/runtime/zero/stage3.py, partition_parameters.py,
// partitioned_param_coordinator.py, 0.19.8).
//
// Every parameter is cut by itself, padded to the ranks. A module's parameters are gathered before
// it runs, with the next ones on their way (prefetch), and released after it unless they recur
// within max_reuse_distance: so a recomputed layer stays whole until its backward pass is through.
// The program is that of the steady state, after the first iteration has recorded the trace.
#include <algorithm>

#include "frameworks/huggingface/ends.h"
#include "frameworks/huggingface/quantization.h"
#include "frameworks/huggingface/sharding.h"
#include "frameworks/huggingface/states.h"
#include "frameworks/huggingface/zero_partition.h"
#include "plan/zero.h"

namespace trainfit::frameworks::huggingface {
namespace {

using plan::Fact;
using program::Place;
using program::Role;
using program::Segment;
using program::Slot;
using program::Stream;
using program::Tape;
using spec::Dtype;

constexpr std::int32_t kGathered = program::kWeightSlots + (1 << 14);
constexpr std::int32_t kStatesOfOptimizer = 16;       // more than any optimizer has
constexpr std::int32_t kCut = kGathered + (1 << 13);  // partitions of quantized weights

// One parameter as it is gathered.
struct Whole {
  Slot slot;
  std::int64_t elements = 0;
  Bytes bytes;
};

// The parameters of one frame that come and go, in the order of the modules.
struct Unit {
  std::vector<Whole> parameters;
  std::int64_t elements = 0;
  Bytes bytes;
  std::int64_t trained = 0;  // elements
  std::int64_t largest_trained = 0;
  Bytes persisted;  // small ones, which every rank keeps whole
};

// What is in flight after `parameters[next]` became current: parameters are added until the
// prefetch bucket is full, the last one may go beyond it.
Bytes Prefetched(const Unit& unit, std::size_t next, std::int64_t bucket) {
  Bytes bytes;
  std::int64_t elements = 0;
  std::size_t count = 0;
  for (; next < unit.parameters.size() && elements < bucket; ++next, ++count) {
    elements += unit.parameters[next].elements;
    bytes += unit.parameters[next].bytes;
  }
  // all_gather_coalesced: one parameter is gathered in place; several arrive in one flat tensor
  // and are copied out of it.
  return count > 1 ? 2 * bytes : bytes;
}

// The most that is there at once while modules come and go one by one.
Bytes Window(const Unit& unit, std::int64_t bucket) {
  Bytes most;
  for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
    most = std::max(most, unit.parameters[i].bytes + Prefetched(unit, i + 1, bucket));
  }
  return most;
}

class Zero3 : public Sharding {
 public:
  explicit Zero3(const ModelFrames& frames)
      : frames_(frames),
        plan_(frames.plan()),
        store_(frames.store()),
        offloads_optimizer_(plan_.zero.offload_optimizer != spec::Offload::kNone),
        half_(spec::ElementBytes(plan_.compute_dtype)) {
    before_ = UnitOf(frames.before());
    after_ = UnitOf(frames.after());
    for (const Frame& frame : frames.layers()) layers_.push_back(UnitOf(frame));
    persisted_ = before_.persisted + after_.persisted;
    for (const spec::LayerRun& run : plan_.model->Text().runs) {
      persisted_ += run.count * layers_[static_cast<std::size_t>(run.kind)].persisted;
    }
    const std::vector<std::int64_t> trained = TrainedElements(frames);
    partition_ = Sum(trained);  // already cut: TrainedTensors sees shards
    largest_ = Largest(trained);
    sub_groups_ = SubGroups(trained, plan_.zero.sub_group);
    MakeBuffers();
  }

  // _create_fp16_partitions_with_defragmentation moves the trained partitions into one buffer, by
  // way of the host; _setup_for_real_optimizer makes the rest.
  void AppendInit(Children& children) override {
    children.push_back(
        {frames_.EveryFrame([this](const Frame& f) { return RecordFreeTrained(f, store_); }), 0});
    children.push_back(
        {frames_.EveryFrame([this](const Frame& f) { return RecordCutQuantized(f); }), 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     tape.EmptyCache();  // zero/utils.py defragment
                                     Alloc(tape, flat_);
                                     Alloc(tape, master_);
                                     InitGradients(tape);
                                     Alloc(tape, bucket_);
                                     Alloc(tape, kept_gradients_);
                                     Alloc(tape, persistent_);
                                     if (plan_.facts.Is(Fact::kZeroStatesAtInit)) MakeStates(tape);
                                   }),
                        0});
  }

  void BeginForward(Children& children) override { children.push_back({Gather(before_), 0}); }

  const Segment* Forward(const Position& p, const Segment* forward) override {
    Children children;
    if (p.before == kNoLayer) children.push_back({Release(before_), 0});
    const Unit& unit = layers_[static_cast<std::size_t>(p.kind)];
    const Buffer window = Lump(Window(unit, plan_.zero.prefetch_bucket));
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Alloc(tape, window);
                                     ExchangeGather(tape, unit);
                                   }),
                        0});
    children.push_back({forward, 0});
    children.push_back({RecordLeaf(store_, [&](Tape& tape) { Free(tape, window); }), 0});
    if (p.after == kNoLayer) {
      children.push_back({RecordLeaf(store_, [&](Tape& tape) { Alloc(tape, kept_); }), 0});
      children.push_back({Gather(after_), 0});
    }
    return store_.Sequence(std::move(children));
  }

  void EndForward(Children&) override {}

  const Segment* Backward(const Position& p, const Segment* backward, Round round) override {
    Children children;
    if (p.after == kNoLayer) {
      children.push_back({RecordLeaf(store_, [&](Tape& tape) { Reduce(tape, after_); }), 0});
      children.push_back({Release(after_), 0});
    }
    const Unit& unit = layers_[static_cast<std::size_t>(p.kind)];
    const Unit& next = p.before == kNoLayer ? before_ : layers_[static_cast<std::size_t>(p.before)];
    const bool gathers_next = p.before != kNoLayer || before_.trained > 0;
    const Buffer prefetched = {
        SlotOf(ZeroSlot::kPrefetched),
        gathers_next ? Prefetched(next, 0, plan_.zero.prefetch_bucket) : Bytes(),
        Role::kCommunication,
        "prefetched parameters",
        Place::kGpu,
        Stream::kAllGather};
    const Buffer waiting = Waiting(unit);
    children.push_back({GatherForBackward(unit), 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Alloc(tape, prefetched);
                                     Alloc(tape, waiting);
                                   }),
                        0});
    children.push_back({backward, 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Free(tape, waiting);
                                     Reduce(tape, unit);
                                     Free(tape, prefetched);
                                     if (p.after == kNoLayer) Free(tape, kept_);
                                   }),
                        0});
    children.push_back({ReleaseAfterBackward(unit), 0});
    if (p.before == kNoLayer && before_.trained > 0) children.push_back({Gather(before_), 0});
    (void)round;
    return store_.Sequence(std::move(children));
  }

  void EndBackward(Children& children, Round) override {
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Reduce(tape, before_);
                                     FreeTiedGradient(tape);
                                   }),
                        0});
    if (before_.trained > 0) children.push_back({Release(before_), 0});
  }

  void AppendUpdate(Children& children, bool is_first) override {
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     if (offloads_optimizer_) {
                                       UpdateOnHost(tape, is_first);
                                     } else {
                                       Update(tape, is_first);
                                     }
                                   }),
                        0});
  }

 private:
  // Persisted: DeepSpeedZeRoOffload.mark_persistent_parameters, at most the threshold's elements.
  Unit UnitOf(const Frame& frame) const {
    Unit unit;
    const auto add = [&](std::int32_t number, std::int64_t elements, Bytes bytes) {
      if (elements <= plan_.zero.persistence_threshold) {
        unit.persisted += bytes;
        return;
      }
      unit.parameters.push_back({GatheredSlot(frame, number), elements, bytes});
      unit.elements += elements;
      unit.bytes += bytes;
    };
    const auto add_leaf = [&](std::int32_t number, const program::Leaf& leaf, Dtype dtype) {
      const std::int64_t elements = leaf.shape.rows * leaf.shape.cols;
      add(number, elements, Bytes(elements * spec::ElementBytes(dtype)));
      if (!leaf.trainable) return;
      unit.trained += elements;
      unit.largest_trained = std::max(unit.largest_trained, elements);
    };
    for (std::int32_t i = 0; i < frame.size(); ++i) {
      if (frame.held(i).quantized_4bit) {
        const Bytes packed = FourBitSize(frame.tensor(i).Elements(), false).packed;
        add(i, packed.value(), packed);
      } else {
        add_leaf(i, frame.WeightLeaf(i), frame.held(i).dtype);
      }
      if (frame.held(i).lora_rank == 0) continue;
      for (const bool is_b : {false, true}) {
        add_leaf(Frame::AdapterNumber(i, is_b), frame.AdapterLeaf(i, is_b), plan_.adapter_dtype);
      }
    }
    return unit;
  }

  void MakeBuffers() {
    const plan::ZeroPlan& zero = plan_.zero;
    const bool offloads_param = zero.offload_param != spec::Offload::kNone;
    const auto host = [&](spec::Offload where) {
      if (where == spec::Offload::kNone) return Place::kGpu;
      if (where == spec::Offload::kNvme) return Place::kDisk;
      return zero.pin_memory ? Place::kPinned : Place::kHost;
    };
    const Role role = plan_.method == spec::Method::kFull ? Role::kWeights : Role::kAdapterWeights;
    flat_ = {SlotOf(ZeroSlot::kFlatWeights), Bytes(partition_ * half_), role,
             "flat 16-bit partition", offloads_param ? host(zero.offload_param) : Place::kGpu};
    // .to(device), then clone: the fp32 copy that stays on the host is never pinned.
    const Place states = !offloads_optimizer_                             ? Place::kGpu
                         : zero.offload_optimizer == spec::Offload::kNvme ? Place::kDisk
                                                                          : Place::kHost;
    master_ = {SlotOf(ZeroSlot::kMasterWeights), Bytes(partition_ * 4), Role::kMasterWeights,
               "fp32 weights of the partition", states};
    states_ = FlatStates(plan_, partition_, states);
    kept_gradients_ = {
        SlotOf(ZeroSlot::kPartitionGradients), Bytes(partition_ * half_), Role::kGradients,
        "gradients of the partition",
        offloads_optimizer_ ? zero.pin_memory ? Place::kPinned : Place::kHost : Place::kGpu};
    bucket_ = {SlotOf(ZeroSlot::kBucket), Bytes(zero.reduce_bucket * half_), Role::kCommunication,
               "reduce bucket"};
    persistent_ = {SlotOf(ZeroSlot::kHostCopy), persisted_, Role::kWeights,
                   "parameters that every rank keeps whole"};
    kept_ = {SlotOf(ZeroSlot::kKept),        KeptAcrossTheTurn(), Role::kCommunication,
             "parameters kept for backward", Place::kGpu,         Stream::kAllGather};
  }

  // Of the layers before the last one, those whose modules recur within max_reuse_distance of
  // their forward pass (the loop of __params_to_release): the rest of forward, the head twice, and
  // what backward does before them. The last layer itself is gathered by its own backward pass.
  Bytes KeptAcrossTheTurn() const {
    const std::int64_t passes = plan_.checkpointing == spec::Checkpointing::kFull ? 2 : 1;
    std::int64_t distance = 2 * after_.elements;
    Bytes kept;
    const auto& runs = plan_.model->Text().runs;
    bool is_last = true;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      const Unit& unit = layers_[static_cast<std::size_t>(run->kind)];
      for (std::int64_t i = 0; i < run->count; ++i) {
        if (distance + unit.elements >= plan_.zero.max_reuse_distance) return kept;
        if (!is_last) kept += unit.bytes;
        is_last = false;
        distance += (1 + passes) * unit.elements;
      }
    }
    return kept;
  }

  static Slot GatheredSlot(const Frame& frame, std::int32_t number) {
    return {frame.WeightSlot(0).frame, kGathered + frame.Unique(number)};
  }

  static Buffer Lump(Bytes bytes) {
    return {SlotOf(ZeroSlot::kGathered), bytes,       Role::kCommunication,
            "gathered parameters",       Place::kGpu, Stream::kAllGather};
  }

  void ExchangeGather(Tape& tape, const Unit& unit) const {
    if (unit.bytes == Bytes()) return;
    if (plan_.zero.offload_param != spec::Offload::kNone) {
      tape.Run(program::KernelClass::kCopy, "partitions to the GPU", Flops(),
               Bytes(unit.bytes.value() / plan_.parallel.data), {}, Stream::kCopy);
      tape.Wait(Stream::kAllGather, Stream::kCopy);
    }
    tape.Exchange(program::Collective::kAllGather, program::Group::kData, "all-gather", unit.bytes,
                  Stream::kAllGather);
    tape.Wait(Stream::kCompute, Stream::kAllGather);
  }

  const Segment* Gather(const Unit& unit) {
    return RecordLeaf(store_, [&](Tape& tape) {
      for (const Whole& whole : unit.parameters) {
        tape.AllocSlot(whole.slot, whole.bytes, Role::kCommunication, "gathered parameters",
                       Place::kGpu, Stream::kAllGather);
      }
      ExchangeGather(tape, unit);
    });
  }

  const Segment* Release(const Unit& unit) {
    return RecordLeaf(store_, [&](Tape& tape) {
      for (const Whole& whole : unit.parameters) {
        tape.FreeSlot(whole.slot, whole.bytes, Role::kCommunication, "gathered parameters",
                      Place::kGpu, Stream::kAllGather);
      }
    });
  }

  // Recomputed modules recur in backward at once, so the layer is whole there; beyond the reuse
  // distance (mixtures of experts) modules come and go.
  bool IsWholeInBackward(const Unit& unit) const {
    return plan_.checkpointing == spec::Checkpointing::kFull &&
           unit.elements < plan_.zero.max_reuse_distance / 2;
  }

  Buffer BackwardLump(const Unit& unit) const {
    Bytes bytes = Window(unit, plan_.zero.prefetch_bucket);
    if (plan_.checkpointing == spec::Checkpointing::kFull) {
      bytes = std::min(unit.bytes, bytes + Bytes(plan_.zero.max_reuse_distance / 2 * half_));
    }
    return Lump(bytes);
  }

  const Segment* GatherForBackward(const Unit& unit) {
    if (IsWholeInBackward(unit)) return Gather(unit);
    return RecordLeaf(store_, [&](Tape& tape) {
      Alloc(tape, BackwardLump(unit));
      ExchangeGather(tape, unit);
    });
  }

  const Segment* ReleaseAfterBackward(const Unit& unit) {
    if (IsWholeInBackward(unit)) return Release(unit);
    return RecordLeaf(store_, [&](Tape& tape) { Free(tape, BackwardLump(unit)); });
  }

  // A gradient larger than the bucket stays where it is until the next one is there.
  Buffer Waiting(const Unit& unit) const {
    const bool waits = unit.largest_trained > plan_.zero.reduce_bucket;
    return {SlotOf(ZeroSlot::kWaitingGradient),
            Bytes(waits ? unit.largest_trained * half_ : std::int64_t{0}), Role::kGradients,
            "gradient that waits for its reduction"};
  }

  // coalesced_collectives.py reduce_scatter_coalesced: partitions of several gradients are
  // interleaved into a new tensor.
  void Reduce(Tape& tape, const Unit& unit) const {
    if (unit.trained == 0) return;
    const std::int64_t joined = std::min(plan_.zero.reduce_bucket, unit.trained);
    Pass(tape, {SlotOf(ZeroSlot::kScratch), Bytes(joined * half_), Role::kCommunication,
                "reduce-scatter input", Place::kGpu, Stream::kReduceScatter});
    tape.Wait(Stream::kReduceScatter, Stream::kCompute);
    tape.Exchange(program::Collective::kReduceScatter, program::Group::kData, "reduce-scatter",
                  Bytes(unit.trained * half_), Stream::kReduceScatter);
    if (!offloads_optimizer_) return;
    tape.Wait(Stream::kCopy, Stream::kReduceScatter);
    tape.Run(program::KernelClass::kCopy, "gradients to the host", Flops(),
             Bytes(unit.trained / plan_.parallel.data * half_), {}, Stream::kCopy);
  }

  void FreeTiedGradient(Tape& tape) const {
    if (!plan_.model->tied_head || plan_.method != spec::Method::kFull) return;
    const Frame& before = frames_.before();
    const std::int32_t table = before.Find(spec::Part::kTokenEmbedding);
    const program::Leaf leaf = before.WeightLeaf(table);
    tape.FreeSlot(leaf.gradient, Bytes(leaf.shape.rows * leaf.shape.cols * half_), Role::kGradients,
                  leaf.label);
  }

  // Quantized weights are loaded whole (transformers/modeling_utils.py leaves zero.Init out for
  // them) and cut when the engine converts the module (parameter_offload.py
  // _convert_to_zero_parameters).
  const Segment* RecordCutQuantized(const Frame& frame) {
    return RecordLeaf(store_, [&](Tape& tape) {
      for (std::int32_t i = 0; i < frame.size(); ++i) {
        if (!frame.held(i).quantized_4bit) continue;
        const Bytes packed = FourBitSize(frame.tensor(i).Elements(), false).packed;
        const char* label = Label(Name(frame.tensor(i).part));
        tape.AllocSlot({frame.WeightSlot(i).frame, kCut + frame.Unique(i)},
                       Bytes(CeilDiv(packed.value(), plan_.parallel.data)), Role::kWeights, label);
        tape.FreeSlot(frame.WeightSlot(i), packed, Role::kWeights, label);
      }
    });
  }

  // initialize_optimizer_states: one zero gradient of the largest sub-group, which an offloaded
  // optimizer keeps for each of them.
  void InitGradients(Tape& tape) const {
    Buffer gradients = {SlotOf(ZeroSlot::kMasterGradients), Bytes(Largest(sub_groups_) * 4),
                        Role::kGradients, "fp32 gradients of a sub-group"};
    if (!offloads_optimizer_) {
      Pass(tape, gradients);
      return;
    }
    if (plan_.zero.offload_optimizer == spec::Offload::kNvme) return;
    gradients.place = plan_.zero.pin_memory ? Place::kPinned : Place::kHost;
    std::int32_t number = 0;
    for (const std::int64_t elements : sub_groups_) {
      gradients.slot = SlotOf(ZeroSlot::kStates, kStatesOfOptimizer + number++);
      gradients.bytes = Bytes(elements * 4);
      Alloc(tape, gradients);
    }
  }

  void MakeStates(Tape& tape) const {
    for (const Buffer& state : states_) Alloc(tape, state);
  }

  void MakeStatesOnce(Tape& tape, bool is_first) const {
    if (is_first && !plan_.facts.Is(Fact::kZeroStatesAtInit)) MakeStates(tape);
  }

  void Update(Tape& tape, bool is_first) const {
    // isinf of the whole gradient buffer: its absolute value, and one byte an element.
    const auto scratch = [](std::int64_t bytes, const char* label) {
      return Buffer{SlotOf(ZeroSlot::kScratch), Bytes(bytes), Role::kTemporary, label};
    };
    Pass(tape, scratch(partition_ * (half_ + 1), "overflow check"));
    Pass(tape, scratch(largest_ * 8, "gradient norm in fp64"));
    MakeStatesOnce(tape, is_first);
    const std::int64_t elements = Largest(sub_groups_);
    const Buffer flat = {SlotOf(ZeroSlot::kFlatGradients), Bytes(elements * half_),
                         Role::kGradients, "flat gradients of a sub-group"};
    const Buffer gradient = {SlotOf(ZeroSlot::kMasterGradients), Bytes(elements * 4),
                             Role::kGradients, "fp32 gradients of a sub-group"};
    Alloc(tape, flat);
    Alloc(tape, gradient);
    Free(tape, flat);
    Pass(tape, ForeachTemporary(plan_, elements));
    constexpr std::int64_t kFusedAdamPasses = 7;
    tape.Run(program::KernelClass::kOptimizer, "optimizer step", Flops(),
             Bytes(kFusedAdamPasses * partition_ * 4));
    Free(tape, gradient);
  }

  void UpdateOnHost(Tape& tape, bool is_first) const {
    MakeStatesOnce(tape, is_first);
    RunHostAdam(tape, partition_);
    tape.Wait(Stream::kCompute, Stream::kCopy);
    if (plan_.zero.offload_param != spec::Offload::kNone) return;
    tape.Run(program::KernelClass::kCopy, "updated weights to the GPU", Flops(),
             Bytes(partition_ * half_), {}, Stream::kCopy);
    tape.Wait(Stream::kCompute, Stream::kCopy);
  }

  const ModelFrames& frames_;
  const plan::Plan& plan_;
  program::SegmentStore& store_;
  bool offloads_optimizer_;
  std::int64_t half_;
  Unit before_;
  Unit after_;
  std::vector<Unit> layers_;  // by kind
  Bytes persisted_;
  std::int64_t partition_ = 0;
  std::int64_t largest_ = 0;
  Buffer flat_;
  Buffer master_;
  Buffer kept_gradients_;
  Buffer bucket_;
  Buffer persistent_;
  Buffer kept_;
  std::vector<Buffer> states_;
  std::vector<std::int64_t> sub_groups_;  // elements of each
};

}  // namespace

std::unique_ptr<Sharding> MakeZero3(const ModelFrames& frames) {
  return std::make_unique<Zero3>(frames);
}

}  // namespace trainfit::frameworks::huggingface
