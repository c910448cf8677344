#include "frameworks/huggingface/states.h"

#include <algorithm>
#include <array>

#include "frameworks/huggingface/quantization.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Place;
using program::Role;
using program::Slot;
using program::Tape;
using spec::Dtype;
using spec::Optimizer;

// bitsandbytes/optim/optimizer.py: min_8bit_size, blocks of 256.
constexpr std::int64_t kMin8bitSize = 4096;
constexpr std::int64_t kOptimizerBlock = 256;

// What one tensor's optimizer states occupy: up to kStatesPerTensor allocations.
struct StateBytes {
  std::array<Bytes, 4> bytes;
  int count = 0;
  void Add(Bytes b) { bytes[static_cast<std::size_t>(count++)] = b; }
};

Bytes SizeOf(std::int64_t elements, Dtype dtype) {
  return Bytes(elements * spec::ElementBytes(dtype));
}

StateBytes EightBitStates(const Trained& t, const plan::Plan& plan) {
  StateBytes states;
  const bool is_32bit = t.elements < kMin8bitSize ||
                        (t.is_embedding && plan.facts.Is(plan::Fact::kEmbedding32bitStates));
  for (int moment = 0; moment < 2; ++moment) {
    states.Add(is_32bit ? SizeOf(t.elements, Dtype::kFp32) : Bytes(t.elements));
  }
  if (is_32bit) return states;
  for (int moment = 0; moment < 2; ++moment) {
    states.Add(Bytes(4 * CeilDiv(t.elements, kOptimizerBlock)));
  }
  return states;
}

StateBytes AdafactorStates(const Trained& t) {
  StateBytes states;
  if (t.rows > 1 && t.cols > 1) {  // factored second moment: one vector a side
    states.Add(SizeOf(t.rows, Dtype::kFp32));
    states.Add(SizeOf(t.cols, Dtype::kFp32));
  } else {
    states.Add(SizeOf(t.elements, Dtype::kFp32));
  }
  return states;
}

StateBytes StatesOf(const Trained& t, const plan::Plan& plan) {
  StateBytes states;
  switch (plan.optimizer) {
    case Optimizer::kPagedAdamW:
      // bitsandbytes/optim/optimizer.py init_state: 32-bit states whatever the parameter's type.
      states.Add(SizeOf(t.elements, Dtype::kFp32));
      states.Add(SizeOf(t.elements, Dtype::kFp32));
      return states;
    case Optimizer::kAdamW:
      states.Add(SizeOf(t.elements, t.dtype));  // zeros_like the parameter
      states.Add(SizeOf(t.elements, t.dtype));
      // The step counter lies on the GPU for the fused kernel alone (torch/optim/adam.py).
      if (plan.optimizer_loop == spec::OptimizerLoop::kFused) states.Add(Bytes(4));
      return states;
    case Optimizer::kAdamW8bit:
    case Optimizer::kPagedAdamW8bit:
      return EightBitStates(t, plan);
    case Optimizer::kAdafactor:
      return AdafactorStates(t);
    case Optimizer::kLion:  // transformers' "lion_32bit" is that of bitsandbytes
      states.Add(SizeOf(t.elements, Dtype::kFp32));
      return states;
    case Optimizer::kSgdMomentum:
      states.Add(SizeOf(t.elements, t.dtype));
      return states;
    case Optimizer::kSgd:
      return states;
  }
  return states;
}

const program::Segment* Finish(Tape& tape, program::SegmentStore& store) {
  tape.Cut();
  return tape.Finish(store).front();
}

// A checkpoint that is stored quantized, or LLM.int8: packed matrix, then its scales.
void LoadGrouped(Tape& tape, const Frame& frame, std::int32_t i, spec::Quantization quantization) {
  const spec::TensorSpec& tensor = frame.tensor(i);
  GroupedSize size =
      GroupedSizeOf(tensor.OutFeatures() * tensor.copies, tensor.InFeatures(), quantization);
  const char* label = Label(Name(tensor.part));
  if (ShardsGroupedWords(frame.plan())) {
    size.packed = ShardBytes(frame.plan(), {size.packed.value(), 1}, Dtype::kUint8);
    size.zeros = ShardBytes(frame.plan(), {size.zeros.value(), 1}, Dtype::kUint8);
  }
  tape.AllocSlot(frame.WeightSlot(i), size.packed, Role::kWeights, label,
                 ShardsGroupedWords(frame.plan()) ? WeightPlace(frame.plan()) : Place::kGpu);
  std::int32_t state = 0;
  for (const Bytes bytes : {size.scales, size.zeros, size.order}) {
    if (bytes.value() == 0) continue;
    tape.AllocSlot(frame.StateSlot(i, state++), bytes, Role::kQuantizationState, "scales");
  }
}

void LoadQuantized(Tape& tape, const Frame& frame, std::int32_t i, const plan::Plan& plan) {
  if (!IsBlockwise(plan.quantization)) return LoadGrouped(tape, frame, i, plan.quantization);
  const spec::TensorSpec& tensor = frame.tensor(i);
  const std::int64_t elements = tensor.Elements();
  QuantizedSize size = FourBitSize(elements, plan.double_quantization);
  // The packed matrix is sharded; its scales (quant_state) stay whole on each rank. ZeRO-3 cuts it
  // later, when the engine takes the model over.
  const bool is_cut_later = plan.parallel.sharding == spec::Sharding::kZero3;
  if (!is_cut_later) {
    size.packed = Bytes(Elements(Shard(plan, {size.packed.value(), 1})));
  }
  const program::Tensor full =
      tape.NewBytes(SizeOf(elements, plan.compute_dtype), Role::kTemporary, "weight to quantize");
  tape.AllocSlot(frame.WeightSlot(i), size.packed, Role::kWeights, Label(Name(tensor.part)),
                 is_cut_later ? Place::kGpu : WeightPlace(plan));
  std::int32_t state = 0;
  for (const Bytes bytes : {size.absmax, kCodeTable, size.nested_absmax}) {
    if (bytes.value() == 0) continue;
    tape.AllocSlot(frame.StateSlot(i, state++), bytes, Role::kQuantizationState, "absmax");
  }
  if (plan.double_quantization) {
    tape.AllocSlot(frame.StateSlot(i, state++), kNestedCode, Role::kQuantizationState, "code");
    tape.AllocSlot(frame.StateSlot(i, state++), kOffset, Role::kQuantizationState, "offset");
  }
}

}  // namespace

program::Shape Shard(const plan::Plan& plan, program::Shape whole) {
  switch (plan.parallel.sharding) {
    case spec::Sharding::kZero3:
    case spec::Sharding::kFsdp1:
      return {1, CeilDiv(whole.rows * whole.cols, plan.parallel.data)};
    case spec::Sharding::kFsdp2:
      return {CeilDiv(whole.rows, plan.parallel.data), whole.cols};
    default:
      return whole;
  }
}

bool ShardsGroupedWords(const plan::Plan& plan) {
  const bool is_fsdp = plan.parallel.sharding == spec::Sharding::kFsdp1 ||
                       plan.parallel.sharding == spec::Sharding::kFsdp2;
  return is_fsdp && plan.facts.Is(plan::Fact::kShardsGroupedWords);
}

Bytes GatheredWords(const Frame& frame, std::int32_t i) {
  const spec::TensorSpec& tensor = frame.tensor(i);
  const spec::Quantization quantization = frame.plan().quantization;
  if (IsBlockwise(quantization)) return FourBitSize(tensor.Elements(), false).packed;
  if (!ShardsGroupedWords(frame.plan())) return {};
  const GroupedSize size =
      GroupedSizeOf(tensor.OutFeatures() * tensor.copies, tensor.InFeatures(), quantization);
  return size.packed + size.zeros;
}

program::Place WeightPlace(const plan::Plan& plan) {
  // _flat_param.py init_flat_param_attributes, _fsdp_param.py _init_sharded_param: pinned.
  if (plan.offload_shards) return program::Place::kPinned;
  if (plan.parallel.sharding != spec::Sharding::kZero3) return program::Place::kGpu;
  switch (plan.zero.offload_param) {
    case spec::Offload::kNone:
      return program::Place::kGpu;
    case spec::Offload::kCpu:
      return plan.zero.pin_memory ? program::Place::kPinned : program::Place::kHost;
    case spec::Offload::kNvme:
      return program::Place::kDisk;
  }
  return program::Place::kGpu;
}

namespace {

// ZeRO-3's engine moves adapters when it takes the model over.
Place AdapterPlace(const plan::Plan& plan) {
  return plan.offload_shards ? WeightPlace(plan) : Place::kGpu;
}

}  // namespace

Bytes ShardBytes(const plan::Plan& plan, program::Shape whole, Dtype dtype) {
  return SizeOf(Elements(Shard(plan, whole)), dtype);
}

std::vector<Bytes> StateSizes(const Trained& t, const plan::Plan& plan) {
  const StateBytes states = StatesOf(t, plan);
  return {states.bytes.begin(), states.bytes.begin() + states.count};
}

std::vector<Trained> TrainedTensors(const Frame& frame) {
  const Dtype adapters = frame.plan().adapter_dtype;
  std::vector<Trained> trained;
  for (std::int32_t i = 0; i < frame.size(); ++i) {
    const spec::TensorSpec& tensor = frame.tensor(i);
    const auto add = [&](std::int32_t number, const program::Leaf& leaf, Dtype dtype) {
      const program::Shape shard = Shard(frame.plan(), leaf.shape);
      trained.push_back({number, Elements(shard), shard.rows, shard.cols, dtype,
                         tensor.part == spec::Part::kTokenEmbedding ||
                             tensor.part == spec::Part::kPositionEmbedding,
                         leaf.label});
    };
    if (frame.held(i).trainable) add(i, frame.WeightLeaf(i), frame.held(i).dtype);
    if (frame.held(i).saved_copy) {
      add(Frame::AdapterNumber(i, 0), frame.WeightLeaf(i), frame.held(i).dtype);
    }
    for (std::int32_t n = 0; n < frame.AdapterCount(i); ++n) {
      add(Frame::AdapterNumber(i, n), frame.AdapterLeaf(i, n), adapters);
    }
  }
  return trained;
}

const program::Segment* RecordLoad(const Frame& frame, const plan::Plan& plan,
                                   program::SegmentStore& store) {
  Tape tape;
  for (std::int32_t i = 0; i < frame.size(); ++i) {
    if (frame.held(i).quantized_4bit) {
      LoadQuantized(tape, frame, i, plan);
      continue;
    }
    const program::Shape shape = frame.WeightLeaf(i).shape;
    const std::int64_t elements = frame.tensor(i).Elements();
    const std::int64_t shard = Elements(Shard(plan, shape));
    // accelerate/utils/fsdp_utils.py fsdp2_load_full_state_dict: each parameter is broadcast whole,
    // then sharded.
    program::Tensor whole;
    if (shard < elements) {
      whole = tape.NewBytes(SizeOf(elements, frame.held(i).dtype), Role::kTemporary,
                            "parameter to shard");
    }
    // Each partition is pinned alone (partition_parameters.py _partition_param).
    tape.AllocSlot(frame.WeightSlot(i), SizeOf(shard, frame.held(i).dtype), Role::kWeights,
                   Label(Name(frame.tensor(i).part)), WeightPlace(plan));
  }
  return Finish(tape, store);
}

const program::Segment* RecordAdapters(const Frame& frame, program::SegmentStore& store) {
  Tape tape;
  for (std::int32_t i = 0; i < frame.size(); ++i) {
    if (frame.held(i).saved_copy) {
      const program::Leaf copy = frame.WeightLeaf(i);
      tape.AllocSlot(copy.weight, SizeOf(copy.shape.rows * copy.shape.cols, copy.dtype),
                     Role::kAdapterWeights, copy.label);
    }
    for (std::int32_t n = 0; n < frame.AdapterCount(i); ++n) {
      const program::Leaf leaf = frame.AdapterLeaf(i, n);
      const std::int64_t shard = Elements(Shard(frame.plan(), leaf.shape));
      tape.AllocSlot(leaf.weight, SizeOf(shard, frame.plan().adapter_dtype), Role::kAdapterWeights,
                     leaf.label, AdapterPlace(frame.plan()));
    }
  }
  return Finish(tape, store);
}

namespace {

// bitsandbytes/optim/optimizer.py get_state_buffer: paged states of tensors that are not small are
// CUDA's managed memory. It is none of torch's, and gives way to what needs room on the GPU, so
// that it counts where it then is.
Place StatePlace(const Trained& t, const plan::Plan& plan) {
  constexpr std::int64_t kSmallest = 100'000;
  const bool is_paged =
      plan.optimizer == Optimizer::kPagedAdamW || plan.optimizer == Optimizer::kPagedAdamW8bit;
  if (plan.offload_shards || (is_paged && t.elements >= kSmallest)) return Place::kHost;
  return Place::kGpu;
}

}  // namespace

const program::Segment* RecordStates(const Frame& frame, const plan::Plan& plan,
                                     program::SegmentStore& store) {
  Tape tape;
  for (const Trained& t : TrainedTensors(frame)) {
    const StateBytes states = StatesOf(t, plan);
    for (int i = 0; i < states.count; ++i) {
      tape.AllocSlot(frame.StateSlot(t.number, i), states.bytes[static_cast<std::size_t>(i)],
                     Role::kOptimizerState, t.label, StatePlace(t, plan));
    }
  }
  return Finish(tape, store);
}

const program::Segment* RecordForeachTemporaries(const Frame& frame, const plan::Plan& plan,
                                                 program::SegmentStore& store, bool allocate) {
  // torch/optim/adam.py _multi_tensor_adam: exp_avg_sq_sqrt of all tensors at once.
  constexpr std::int32_t kFirstTemporary = 4;
  const bool is_foreach =
      plan.optimizer == Optimizer::kAdamW && plan.optimizer_loop == spec::OptimizerLoop::kForeach;
  Tape tape;
  if (is_foreach) {
    const auto copies =
        static_cast<std::int32_t>(plan.facts.Value(plan::Fact::kForeachTemporaries));
    for (std::int32_t copy = 0; copy < copies; ++copy) {
      for (const Trained& t : TrainedTensors(frame)) {
        const Slot slot = frame.StateSlot(t.number, kFirstTemporary + copy);
        const Bytes bytes = SizeOf(t.elements, t.dtype);
        if (allocate) {
          tape.AllocSlot(slot, bytes, Role::kTemporary, "foreach AdamW");
        } else {
          tape.FreeSlot(slot, bytes, Role::kTemporary, "foreach AdamW");
        }
      }
    }
  }
  return Finish(tape, store);
}

// torch/nn/utils/clip_grad.py with foreach: a norm of each, then a product in place. Trainer clips
// by default (transformers/training_args.py, max_grad_norm = 1.0).
const program::Segment* RecordClip(const Frame& frame, program::SegmentStore& store) {
  Tape tape;
  Bytes bytes;
  for (const Trained& t : TrainedTensors(frame)) bytes += SizeOf(t.elements, t.dtype);
  if (bytes > Bytes() && !frame.plan().offload_shards) {
    tape.Run(program::KernelClass::kReduction, "gradient norm", Flops(), bytes);
    tape.Run(program::KernelClass::kElementwise, "gradient clipping", Flops(), 2 * bytes);
  }
  return Finish(tape, store);
}

namespace {

// States and temporaries of the update: beside the weights.
Place UpdatePlace(const plan::Plan& plan) {
  return plan.offload_shards ? Place::kHost : Place::kGpu;
}

struct UpdateCost {
  Bytes moved;
  std::int64_t kernels = 1;  // of one tensor, where each has its own
};

// What an update reads and writes.
UpdateCost CostOf(const Trained& t, const plan::Plan& plan) {
  const Bytes own = SizeOf(t.elements, t.dtype);
  Bytes states;
  for (const Bytes bytes : StateSizes(t, plan)) states += bytes;
  if (plan.optimizer == Optimizer::kAdamW && plan.optimizer_loop != spec::OptimizerLoop::kFused) {
    // torch/optim/adam.py _multi_tensor_adam, _single_tensor_adam: decay, lerp, mul, addcmul, sqrt,
    // div, add, addcdiv: 21 passes in all over tensors of the parameter's size.
    constexpr std::int64_t kPasses = 21;
    constexpr std::int64_t kKernels = 8;
    return {kPasses * own, kKernels};
  }
  if (plan.optimizer == Optimizer::kAdafactor) {
    // transformers/optimization.py Adafactor.step: some ten operations on fp32 tensors of its size.
    constexpr std::int64_t kPasses = 24;
    constexpr std::int64_t kKernels = 24;
    return {kPasses * SizeOf(t.elements, Dtype::kFp32), kKernels};
  }
  // One kernel: the weight and the states are read and written, the gradient is read.
  return {3 * own + 2 * states, 1};
}

// Whether one launch updates many tensors.
bool IsMultiTensor(const plan::Plan& plan) {
  return plan.optimizer == Optimizer::kAdamW &&
         plan.optimizer_loop != spec::OptimizerLoop::kForLoop;
}

}  // namespace

const program::Segment* RecordUpdate(const Frame& frame, const plan::Plan& plan,
                                     program::SegmentStore& store) {
  Tape tape;
  UpdateCost together;
  for (const Trained& t : TrainedTensors(frame)) {
    const Bytes bytes = SizeOf(t.elements, t.dtype);
    program::Tensor first;
    program::Tensor second;
    program::Tensor gradient;
    program::Tensor weight;
    const bool is_loop =
        plan.optimizer == Optimizer::kAdamW && plan.optimizer_loop == spec::OptimizerLoop::kForLoop;
    if (is_loop) {
      first = tape.NewBytes(bytes, Role::kTemporary, "AdamW denominator", UpdatePlace(plan));
    }
    if (plan.optimizer == Optimizer::kAdafactor) {
      // transformers/optimization.py Adafactor.step: update = grad² + eps, then rebuilt, in fp32,
      // beside fp32 copies of a 16-bit gradient and weight.
      if (t.dtype != Dtype::kFp32) {
        gradient = tape.NewBytes(2 * bytes, Role::kTemporary, "Adafactor gradient");
        weight = tape.NewBytes(2 * bytes, Role::kTemporary, "Adafactor weight");
      }
      first = tape.NewBytes(SizeOf(t.elements, Dtype::kFp32), Role::kTemporary, "Adafactor update");
      second =
          tape.NewBytes(SizeOf(t.elements, Dtype::kFp32), Role::kTemporary, "Adafactor update");
    }
    const UpdateCost cost = CostOf(t, plan);
    if (plan.offload_shards) {
      tape.Run(program::KernelClass::kHostOptimizer, "optimizer step on the host", Flops(),
               cost.moved, {}, program::Stream::kCopy);
    } else if (IsMultiTensor(plan)) {
      together.moved += cost.moved;
      together.kernels = cost.kernels;
    } else {
      tape.Run({.kernel = program::KernelClass::kOptimizer,
                .label = t.label,
                .moved = cost.moved,
                .kernels = cost.kernels});
    }
  }
  if (together.moved > Bytes()) {
    tape.Run({.kernel = program::KernelClass::kOptimizer,
              .label = "optimizer step",
              .moved = together.moved,
              .kernels = together.kernels});
  }
  return Finish(tape, store);
}

const program::Segment* RecordZeroGrad(const Frame& frame, program::SegmentStore& store) {
  Tape tape;
  for (const Trained& t : TrainedTensors(frame)) {
    tape.FreeSlot(frame.GradientSlot(t.number), SizeOf(t.elements, t.dtype), Role::kGradients,
                  t.label);
  }
  return Finish(tape, store);
}

}  // namespace trainfit::frameworks::huggingface
