// DeepSpeed ZeRO-1 and ZeRO-2 (deepspeed/runtime/zero/stage_1_and_2.py, 0.19.8).
//
// The trained weights are one flat 16-bit buffer on every rank; each rank has the fp32 master
// weights and the optimizer states of its own partition. Stage 1 keeps whole gradients until the
// end of the accumulation; stage 2 copies each gradient into a bucket as soon as it is there,
// reduces full buckets, and keeps what lies in its own partition.
#include <algorithm>

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
using program::Stream;
using program::Tape;

constexpr std::int64_t kFp64Bytes = 8;

class Zero12 : public Sharding {
 public:
  explicit Zero12(const ModelFrames& frames)
      : frames_(frames),
        plan_(frames.plan()),
        store_(frames.store()),
        is_stage2_(plan_.parallel.sharding == spec::Sharding::kZero2),
        offloads_(plan_.zero.offload_optimizer != spec::Offload::kNone),
        half_(spec::ElementBytes(plan_.compute_dtype)) {
    const std::vector<std::int64_t> trained = TrainedElements(frames);
    const std::int64_t ranks = plan_.parallel.data;
    total_ = Sum(trained);
    largest_ = Largest(trained);
    padded_ = PaddedToRanks(total_, ranks);
    partition_ = padded_ / ranks;
    touched_ = MostTouchedElements(trained, partition_, ranks);
    MakeBuffers();
  }

  // The flat buffer is built on the host while the loaded weights leave the GPU; then a clone of
  // the partition becomes fp32, and initialize_optimizer_states makes one zero gradient.
  void AppendInit(Children& children) override {
    children.push_back(
        {frames_.EveryFrame([this](const Frame& f) { return RecordFreeTrained(f, store_); }), 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     tape.EmptyCache();  // "after moving param group to CPU"
                                     Alloc(tape, flat_);
                                     Pass(tape, Scratch(partition_ * half_, "partition"));
                                     Alloc(tape, master_);
                                     if (offloads_) {
                                       InitOffload(tape);
                                       return;
                                     }
                                     Pass(tape, gradient_);
                                     if (plan_.facts.Is(Fact::kZeroStatesAtInit)) MakeStates(tape);
                                   }),
                        0});
  }

  void BeginForward(Children&) override {}
  const Segment* Forward(const Position&, const Segment* forward) override { return forward; }
  void EndForward(Children&) override {}

  const Segment* Backward(const Position& p, const Segment* backward, Round round) override {
    Children children;
    if (p.after == kNoLayer) children.push_back({BeginReducing(round), 0});
    if (!is_stage2_) {
      children.push_back({backward, 0});
      return store_.Sequence(std::move(children));
    }
    const Frame& frame = frames_.layers()[static_cast<std::size_t>(p.kind)];
    const Buffer waiting = Waiting(frame);
    children.push_back({RecordLeaf(store_, [&](Tape& tape) { Alloc(tape, waiting); }), 0});
    children.push_back({backward, 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Free(tape, waiting);
                                     Reduce(tape, Elements(frame));
                                   }),
                        0});
    return store_.Sequence(std::move(children));
  }

  void EndBackward(Children& children, Round round) override {
    if (is_stage2_) {
      EndStage2(children, round);
    } else if (round.sync) {
      EndStage1(children);
    }
  }

  void AppendUpdate(Children& children, bool is_first) override {
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     tape.Wait(Stream::kCompute, Stream::kReduceScatter);
                                     if (offloads_) {
                                       UpdateOnHost(tape, is_first);
                                     } else {
                                       Update(tape, is_first);
                                     }
                                     tape.Exchange(program::Collective::kAllGather,
                                                   program::Group::kData,
                                                   "all-gather of the updated weights", flat_.bytes,
                                                   Stream::kCompute);
                                   }),
                        0});
  }

 private:
  void MakeBuffers() {
    const Role role = plan_.method == spec::Method::kFull ? Role::kWeights : Role::kAdapterWeights;
    const Place there = !offloads_              ? Place::kGpu
                        : plan_.zero.pin_memory ? Place::kPinned
                                                : Place::kHost;
    flat_ = {SlotOf(ZeroSlot::kFlatWeights), Bytes(padded_ * half_), role, "flat 16-bit weights"};
    master_ = {SlotOf(ZeroSlot::kMasterWeights), Bytes(partition_ * 4), Role::kMasterWeights,
               "fp32 weights of the partition", there};
    gradient_ = {SlotOf(ZeroSlot::kMasterGradients), Bytes(partition_ * 4), Role::kGradients,
                 "fp32 gradients of the partition", there};
    states_ = FlatStates(plan_, partition_, offloads_ ? Place::kHost : Place::kGpu);
    // torch.empty(reduce_bucket_size) each, whatever there is to reduce.
    const Bytes bucket(plan_.zero.reduce_bucket * half_);
    buckets_ = {{SlotOf(ZeroSlot::kBucket), bucket, Role::kCommunication, "reduce bucket"}};
    if (plan_.zero.overlap_comm) {
      buckets_.push_back(
          {SlotOf(ZeroSlot::kSecondBucket), bucket, Role::kCommunication, "reduce bucket"});
    }
    owned_ = {SlotOf(ZeroSlot::kPartitionGradients),
              Bytes(touched_ * half_),
              Role::kGradients,
              "gradients of the partition",
              Place::kGpu,
              ReduceStream()};
    if (offloads_) owned_.bytes = Bytes();
    newly_owned_ = owned_;
    newly_owned_.slot = SlotOf(ZeroSlot::kNewPartitionGradients);
  }

  Stream ReduceStream() const {
    return plan_.zero.overlap_comm ? Stream::kReduceScatter : Stream::kCompute;
  }

  Buffer Scratch(std::int64_t bytes, const char* label, Place place = Place::kGpu) const {
    return {SlotOf(ZeroSlot::kScratch), Bytes(bytes), Role::kTemporary, label, place};
  }

  static std::int64_t Elements(const Frame& frame) {
    std::int64_t elements = 0;
    for (const Trained& t : TrainedTensors(frame)) elements += t.elements;
    return elements;
  }

  // A gradient that is larger than the bucket is not copied into it: it waits, where it is, until
  // the next one is there (extra_large_param_to_reduce).
  Buffer Waiting(const Frame& frame) const {
    std::int64_t largest = 0;
    for (const Trained& t : TrainedTensors(frame)) largest = std::max(largest, t.elements);
    if (largest <= plan_.zero.reduce_bucket) largest = 0;
    return {SlotOf(ZeroSlot::kWaitingGradient), Bytes(largest * half_), Role::kGradients,
            "gradient that waits for its reduction"};
  }

  // reduce_scatter with use_multi_rank_bucket_allreduce, both the default, is an all-reduce. A
  // bucket whose parts belong to several ranks is put together anew for it.
  void Reduce(Tape& tape, std::int64_t elements) const {
    if (elements == 0) return;
    if (plan_.parallel.data > 1) {
      Buffer joined = Scratch(std::min(plan_.zero.reduce_bucket, total_) * half_, "joined bucket");
      joined.role = Role::kCommunication;
      joined.stream = ReduceStream();
      Pass(tape, joined);
    }
    if (ReduceStream() != Stream::kCompute) tape.Wait(ReduceStream(), Stream::kCompute);
    tape.Exchange(program::Collective::kAllReduce, program::Group::kData, "all-reduce of a bucket",
                  Bytes(elements * half_), ReduceStream());
    if (!offloads_) return;
    // async_inplace_copy_grad_to_fp32_buffer_from_gpu: the fp32 of one slice, then to the host.
    tape.Wait(Stream::kCopy, ReduceStream());
    tape.Run(program::KernelClass::kCopy, "gradients to the host", Flops(),
             Bytes(elements / plan_.parallel.data * 4), {}, Stream::kCopy);
  }

  const Segment* BeginReducing(Round round) {
    return RecordLeaf(store_, [&](Tape& tape) {
      if (is_stage2_ || round.is_first) {
        for (const Buffer& bucket : buckets_) Alloc(tape, bucket);
      }
      if (is_stage2_ && total_ > plan_.zero.reduce_bucket) {
        Alloc(tape, round.is_first ? owned_ : newly_owned_);
      }
    });
  }

  void FreeTiedGradient(Tape& tape) const {
    if (!plan_.model->tied_head || plan_.method != spec::Method::kFull) return;
    const Frame& before = frames_.before();
    for (const Trained& t : TrainedTensors(before)) {
      if (!t.is_embedding || before.tensor(t.number).part != spec::Part::kTokenEmbedding) continue;
      tape.FreeSlot(before.GradientSlot(t.number), Bytes(t.elements * half_), Role::kGradients,
                    t.label);
    }
  }

  // independent_gradient_partition_epilogue: what later micro-steps bring is added and freed.
  void EndStage2(Children& children, Round round) {
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Reduce(tape,
                                            Elements(frames_.before()) + Elements(frames_.after()));
                                     if (total_ <= plan_.zero.reduce_bucket) {
                                       Alloc(tape, round.is_first ? owned_ : newly_owned_);
                                     }
                                     FreeTiedGradient(tape);
                                     if (!round.is_first) Free(tape, newly_owned_);
                                     for (const Buffer& bucket : buckets_) Free(tape, bucket);
                                   }),
                        0});
  }

  // reduce_gradients: at the boundary all gradients go through the buckets.
  void EndStage1(Children& children) {
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     Reduce(tape, total_);
                                     Alloc(tape, owned_);
                                   }),
                        0});
    children.push_back(
        {frames_.EveryFrame([this](const Frame& f) { return RecordZeroGrad(f, store_); }), 0});
    children.push_back({RecordLeaf(store_,
                                   [&](Tape& tape) {
                                     for (const Buffer& bucket : buckets_) Free(tape, bucket);
                                   }),
                        0});
  }

  void MakeStates(Tape& tape) const {
    for (const Buffer& state : states_) Alloc(tape, state);
  }

  void MakeStatesOnce(Tape& tape, bool is_first) const {
    if (is_first && !plan_.facts.Is(Fact::kZeroStatesAtInit)) MakeStates(tape);
  }

  // step(): overflow check and norm look at one gradient slice at a time; then the partition's
  // gradients become one flat tensor, which becomes fp32.
  void Update(Tape& tape, bool is_first) const {
    const std::int64_t slice = std::min(largest_, partition_);
    Pass(tape, Scratch(slice * plan_.facts.Value(Fact::kZeroOverflowBytes), "overflow check"));
    Pass(tape, Scratch(slice * kFp64Bytes, "gradient norm in fp64"));
    const Buffer flat = {SlotOf(ZeroSlot::kFlatGradients), Bytes(partition_ * half_),
                         Role::kGradients, "flat gradients of the partition"};
    Alloc(tape, flat);
    Alloc(tape, gradient_);
    Free(tape, flat);
    Free(tape, owned_);
    MakeStatesOnce(tape, is_first);
    Pass(tape, ForeachTemporary(plan_, partition_));
    RunAdam(tape);
    Free(tape, gradient_);
  }

  void RunAdam(Tape& tape) const {
    constexpr std::int64_t kFusedAdamPasses = 7;
    tape.Run(program::KernelClass::kOptimizer, "optimizer step", Flops(),
             kFusedAdamPasses * gradient_.bytes);
  }

  // ZeRO-Offload.

  // Beside the master weights, on the host: fp32 gradients, a 16-bit copy for the way back, and one
  // buffer of the largest tensor, which the GPU has as well.
  void InitOffload(Tape& tape) const {
    Alloc(tape, gradient_);
    Buffer copy = master_;
    copy.slot = SlotOf(ZeroSlot::kHostCopy);
    copy.bytes = Bytes(partition_ * half_);
    copy.label = "16-bit copy of the partition";
    Alloc(tape, copy);
    Buffer largest = copy;
    largest.slot = SlotOf(ZeroSlot::kHostLargest);
    largest.bytes = Bytes(largest_ * half_);
    largest.role = Role::kGradients;
    largest.label = "buffer of the largest gradient";
    Alloc(tape, largest);
    largest.slot = SlotOf(ZeroSlot::kGpuLargest);
    largest.place = Place::kGpu;
    Alloc(tape, largest);
    if (plan_.gradient_accumulation > 1) {  // accumulated_grads_in_cpu: made once, then kept
      Buffer sums = copy;
      sums.slot = SlotOf(ZeroSlot::kHostGradients);
      sums.bytes = Bytes(touched_ * half_);
      sums.role = Role::kGradients;
      sums.label = "16-bit gradients of the partition";
      Alloc(tape, sums);
    }
    if (plan_.facts.Is(Fact::kZeroStatesAtInit)) MakeStates(tape);
  }

  void UpdateOnHost(Tape& tape, bool is_first) const {
    Pass(tape, Scratch(std::min(largest_, partition_) * kFp64Bytes, "gradient norm in fp64"));
    MakeStatesOnce(tape, is_first);
    if (!is_stage2_) Free(tape, owned_);
    RunHostAdam(tape, partition_);
    tape.Run(program::KernelClass::kCopy, "updated weights to the GPU", Flops(),
             Bytes(partition_ * half_), {}, Stream::kCopy);
    tape.Wait(Stream::kCompute, Stream::kCopy);
  }

  const ModelFrames& frames_;
  const plan::Plan& plan_;
  program::SegmentStore& store_;
  bool is_stage2_;
  bool offloads_;
  std::int64_t half_;       // bytes of a 16-bit element; of fp32 where nothing is cast
  std::int64_t total_ = 0;  // trained elements
  std::int64_t largest_ = 0;
  std::int64_t padded_ = 0;
  std::int64_t partition_ = 0;
  std::int64_t touched_ = 0;
  Buffer flat_;
  Buffer master_;
  Buffer gradient_;
  Buffer owned_;
  Buffer newly_owned_;
  std::vector<Buffer> states_;
  std::vector<Buffer> buckets_;
};

}  // namespace

std::unique_ptr<Sharding> MakeZero12(const ModelFrames& frames) {
  return std::make_unique<Zero12>(frames);
}

}  // namespace trainfit::frameworks::huggingface
