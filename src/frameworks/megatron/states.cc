#include "frameworks/megatron/states.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "frameworks/megatron/module.h"

namespace trainfit::frameworks::megatron {
namespace {

using program::Collective;
using program::Group;
using program::KernelClass;
using program::Role;
using program::Slot;
using program::Stream;
using spec::Dtype;

// Slots in the shared frame.
enum SharedSlot : std::int32_t {
  kGradientBuffer = program::kFirstSharedSlot,  // dense, then experts
  kWeightBuffer = kGradientBuffer + 2,
  kGlobalBuffer = kWeightBuffer + 2,
  kPlaceholder,  // one a shape of weights
};

enum State : std::int32_t { kMaster, kFirstMoment, kSecondMoment, kFp32Gradient, kFp8Copy };

Slot Shared(std::int32_t slot) { return {program::kSharedFrame, slot}; }
Slot WeightSlot(std::int32_t frame, std::int32_t i) { return {frame, program::kWeightSlots + i}; }
Slot StateSlot(std::int32_t frame, std::int32_t i, State state) {
  return {frame, program::kStateSlots + i * program::kStatesPerTensor + state};
}

Bytes SizeOf(std::int64_t elements, Dtype dtype) {
  return Bytes(elements * spec::ElementBytes(dtype));
}

// Of a parameter between steps: Float8Tensors of its own under fp8_param_gather.
Dtype StoredDtype(const plan::Plan& plan, const Parameter& p) {
  const bool is_fp8 = plan.fp8 && plan.fp8->parameters && MultipliesInFp8(p);
  return is_fp8 ? Dtype::kFp8E4m3 : plan.weight_dtype;
}

// transformer_engine/pytorch/module/base.py get_weight_workspace: a copy for each layout that
// products read and that the parameter is not itself.
Bytes Fp8Copies(const plan::Plan& plan, const Parameter& p) {
  if (!plan.fp8 || !MultipliesInFp8(p)) return {};
  const std::int64_t layouts = plan.fp8_needs_transposes ? 2 : 1;
  return (layouts - (plan.fp8->parameters ? 1 : 0)) * SizeOf(p.Elements(), Dtype::kFp8E4m3);
}

const program::Segment* Finish(Tape& tape, program::SegmentStore& store) {
  tape.Cut();
  return tape.Finish(store).front();
}

}  // namespace

template <typename Visit>
void States::ForEach(Visit visit) const {
  for (const Placed& placed : parameters_) {
    std::int32_t i = 0;
    for (const Parameter& parameter : placed.parameters) visit(placed.frame, i++, parameter);
  }
}

States::Sums States::Total() const {
  Sums sums;
  ForEach([&](std::int32_t, std::int32_t, const Parameter& p) {
    (p.is_expert ? sums.experts : sums.dense) += p.Elements();
  });
  return sums;
}

Bytes States::WeightBytes(bool experts) const {
  Bytes bytes;
  ForEach([&](std::int32_t, std::int32_t, const Parameter& p) {
    if (p.is_expert == experts) bytes += SizeOf(p.Elements(), StoredDtype(plan_, p));
  });
  return bytes;
}

bool States::IsDistributed() const { return plan_.parallel.sharding == spec::Sharding::kZero1; }

std::int64_t States::Replicas(bool experts) const {
  const plan::Parallel& parallel = plan_.parallel;
  return experts ? parallel.ExpertData() : parallel.data * parallel.context;
}

// The distributed optimizer cuts the flat buffer into equal shards, over context ranks as well
// (megatron/core/optimizer/distrib_optimizer.py). Taken here from each parameter evenly.
std::int64_t States::Shard(const Parameter& parameter) const {
  if (!IsDistributed()) return parameter.Elements();
  return CeilDiv(parameter.Elements(), Replicas(parameter.is_expert));
}

const program::Segment* States::Load() const {
  Tape tape;
  ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
    tape.AllocSlot(WeightSlot(frame, i), SizeOf(p.Elements(), StoredDtype(plan_, p)),
                   Role::kWeights, Label(Name(p.part)));
  });
  return Finish(tape, store_);
}

// megatron/core/distributed/param_and_grad_buffer.py: one flat buffer of gradients; under the
// distributed optimizer one of weights too, into which they move. Masters are clones
// (megatron/core/optimizer/optimizer.py Float16OptimizerWithFloat16Params).
const program::Segment* States::Init() const {
  Tape tape;
  const Sums sums = Total();
  const std::array elements = {sums.dense, sums.experts};
  for (std::int32_t i = 0; i < 2; ++i) {
    const std::int64_t count = elements[static_cast<std::size_t>(i)];
    if (count == 0) continue;
    if (IsDistributed()) {
      tape.AllocSlot(Shared(kWeightBuffer + i), WeightBytes(i == 1), Role::kWeights,
                     "weight buffer");
    }
    tape.AllocSlot(Shared(kGradientBuffer + i), SizeOf(count, plan_.gradient_dtype),
                   Role::kGradients, "main gradients");
  }
  if (IsDistributed()) {
    ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
      tape.FreeSlot(WeightSlot(frame, i), SizeOf(p.Elements(), StoredDtype(plan_, p)),
                    Role::kWeights, Label(Name(p.part)));
    });
  }
  if (plan_.master_weights) {
    ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
      tape.AllocSlot(StateSlot(frame, i, kMaster), SizeOf(Shard(p), Dtype::kFp32),
                     Role::kMasterWeights, Label(Name(p.part)));
    });
  }
  return Finish(tape, store_);
}

// megatron/core/utils.py GlobalMemoryBuffer: one buffer that grows to the largest use, which is the
// scores of unfused attention or an input gathered along the sequence.
Bytes States::SharedBuffer() const {
  if (!plan_.facts.Is(plan::Fact::kSharedBuffers)) return {};
  const plan::Parallel& parallel = plan_.parallel;
  const bool is_engine = plan_.facts.Is(plan::Fact::kTransformerEngine);
  std::int64_t elements = 0;
  bool has_head = false;
  ForEach([&](std::int32_t, std::int32_t, const Parameter& p) {
    has_head = has_head || p.part == spec::Part::kFinalNorm;
  });
  if (parallel.sequence && (has_head || !is_engine)) {
    elements = TokensInside(plan_) * plan_.model->Text().hidden;
  }
  const bool is_eager = plan_.attention == spec::AttentionImplementation::kEager;
  if (is_eager && !is_engine) {
    for (const spec::LayerKind& kind : plan_.model->Text().kinds) {
      elements = std::max(elements, TokensInside(plan_) * plan_.sequence_length *
                                        kind.attention.heads / parallel.tensor);
    }
  }
  return SizeOf(elements, plan_.compute_dtype);
}

const program::Segment* States::FirstUse() const {
  Tape tape;
  if (const Bytes bytes = SharedBuffer(); bytes > Bytes()) {
    tape.AllocSlot(Shared(kGlobalBuffer), bytes, Role::kWorkspace, "global buffer");
  }
  ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
    const Bytes copies = Fp8Copies(plan_, p);
    if (copies == Bytes()) return;
    tape.AllocSlot(StateSlot(frame, i, kFp8Copy), copies, Role::kWeightCasts, Label(Name(p.part)));
  });
  const bool has_placeholders =
      plan_.fused_accumulation && plan_.facts.Is(plan::Fact::kPlaceholderGradients);
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  ForEach([&](std::int32_t, std::int32_t, const Parameter& p) {
    const bool is_matrix = p.shape.rows > 1 && p.shape.cols > 1;
    const bool is_table =
        p.part == spec::Part::kTokenEmbedding || p.part == spec::Part::kPositionEmbedding;
    if (!has_placeholders || !is_matrix || is_table) return;
    if (!shapes.insert({p.shape.rows, p.shape.cols}).second) return;
    tape.AllocSlot(Shared(kPlaceholder + static_cast<std::int32_t>(shapes.size())),
                   SizeOf(p.Elements(), plan_.weight_dtype), Role::kWorkspace,
                   "placeholder gradient");
  });
  return Finish(tape, store_);
}

const program::Segment* States::Update(bool is_first) const {
  Tape tape;
  const Sums sums = Total();
  const std::array elements = {sums.dense, sums.experts};
  for (const bool experts : {false, true}) {
    const std::int64_t count = elements[experts ? 1 : 0];
    if (count == 0 || Replicas(experts) == 1) continue;
    tape.Exchange(IsDistributed() ? Collective::kReduceScatter : Collective::kAllReduce,
                  experts ? Group::kExpertData : Group::kData, "gradients",
                  SizeOf(count, plan_.gradient_dtype), Stream::kCompute);
  }
  if (tied_ends_) {  // finalize_model_grads.py _allreduce_word_embedding_grads
    const std::int64_t table = VocabularyRows(plan_) * plan_.model->Text().hidden;
    tape.Exchange(Collective::kAllReduce, Group::kPipeline, "gradients of the tied word table",
                  SizeOf(table, plan_.gradient_dtype), Stream::kCompute);
  }
  // Gradients in 16 bits get fp32 copies for the step (_copy_model_grads_to_main_grads).
  const bool copies = plan_.master_weights && plan_.gradient_dtype != Dtype::kFp32;
  ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
    const Bytes fp32 = SizeOf(Shard(p), Dtype::kFp32);
    if (copies) {
      tape.AllocSlot(StateSlot(frame, i, kFp32Gradient), fp32, Role::kGradients,
                     "gradients in fp32");
    }
  });
  Bytes all_fp32;
  Bytes all_weights;
  ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
    const std::int64_t shard = Shard(p);
    const Bytes fp32 = SizeOf(shard, Dtype::kFp32);
    if (is_first) {  // FusedAdam makes both moments in its first step
      for (const State state : {kFirstMoment, kSecondMoment}) {
        tape.AllocSlot(StateSlot(frame, i, state), fp32, Role::kOptimizerState,
                       Label(Name(p.part)));
      }
    }
    all_fp32 += fp32;
    all_weights += SizeOf(shard, plan_.weight_dtype);
  });
  // Each a few launches for all tensors (apex multi_tensor_apply). fp16: unscaled, with a look for
  // infinities. Norm of the gradients; then master, gradient and moments are read, all but the
  // gradient written, and the 16-bit weight.
  if (plan_.compute_dtype == Dtype::kFp16) {
    tape.Run(KernelClass::kElementwise, "unscale", Flops(), 2 * all_fp32);
  }
  tape.Run(KernelClass::kReduction, "gradient norm", Flops(), all_fp32);
  tape.Run(KernelClass::kOptimizer, "adam", Flops(), 7 * all_fp32 + all_weights);
  if (copies) {
    ForEach([&](std::int32_t frame, std::int32_t i, const Parameter& p) {
      tape.FreeSlot(StateSlot(frame, i, kFp32Gradient), SizeOf(Shard(p), Dtype::kFp32),
                    Role::kGradients, "gradients in fp32");
    });
  }
  for (const bool experts : {false, true}) {
    const Bytes bytes = WeightBytes(experts);
    if (!IsDistributed() || bytes == Bytes() || Replicas(experts) == 1) continue;
    tape.Exchange(Collective::kAllGather, experts ? Group::kExpertData : Group::kData, "weights",
                  bytes, Stream::kCompute);
  }
  // In the first micro-batch after a step (is_first_microbatch): read once, each copy written.
  Bytes casts;
  ForEach([&](std::int32_t, std::int32_t, const Parameter& p) {
    const Bytes copies = Fp8Copies(plan_, p);
    if (copies > Bytes()) casts += copies + SizeOf(p.Elements(), StoredDtype(plan_, p));
  });
  if (casts > Bytes()) {
    tape.Run(KernelClass::kElementwise, "weights cast to fp8", Flops(), casts);
  }
  return Finish(tape, store_);
}

}  // namespace trainfit::frameworks::megatron
