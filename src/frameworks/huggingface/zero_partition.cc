#include "frameworks/huggingface/zero_partition.h"

#include <algorithm>
#include <numeric>

#include "frameworks/huggingface/states.h"

namespace trainfit::frameworks::huggingface {

using program::Role;
using program::Tape;
using spec::Dtype;

void Alloc(Tape& tape, const Buffer& b) {
  if (b.bytes == Bytes()) return;
  tape.AllocSlot(b.slot, b.bytes, b.role, b.label, b.place, b.stream);
}

void Free(Tape& tape, const Buffer& b) {
  if (b.bytes == Bytes()) return;
  tape.FreeSlot(b.slot, b.bytes, b.role, b.label, b.place, b.stream);
}

// tensor.pin_memory() copies: the tensor that it is called on lives until it returns.
void AllocPinned(Tape& tape, const Buffer& b) {
  Buffer original = b;
  original.slot = SlotOf(ZeroSlot::kUnpinned);
  original.place = program::Place::kHost;
  if (b.place == program::Place::kPinned) Alloc(tape, original);
  Alloc(tape, b);
  if (b.place == program::Place::kPinned) Free(tape, original);
}

void Pass(Tape& tape, const Buffer& b) {
  Alloc(tape, b);
  Free(tape, b);
}

std::vector<std::int64_t> TrainedElements(const ModelFrames& frames) {
  std::vector<std::int64_t> elements;
  const auto add = [&](const Frame& frame, std::int64_t count) {
    const std::vector<Trained> trained = TrainedTensors(frame);
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Trained& t : trained) elements.push_back(t.elements);
    }
  };
  add(frames.before(), 1);
  for (const spec::LayerRun& run : frames.plan().model->Text().runs) {
    add(frames.layers()[static_cast<std::size_t>(run.kind)], run.count);
  }
  add(frames.after(), 1);
  return elements;
}

std::int64_t Sum(const std::vector<std::int64_t>& elements) {
  return std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
}

std::int64_t Largest(const std::vector<std::int64_t>& elements) {
  return elements.empty() ? 0 : *std::max_element(elements.begin(), elements.end());
}

std::int64_t PaddedToRanks(std::int64_t elements, std::int64_t ranks) {
  const std::int64_t alignment = 2 * ranks;
  return CeilDiv(elements, alignment) * alignment;
}

std::int64_t MostTouchedElements(const std::vector<std::int64_t>& elements, std::int64_t partition,
                                 std::int64_t ranks) {
  std::vector<std::int64_t> touched(static_cast<std::size_t>(ranks), 0);
  std::int64_t begin = 0;
  for (const std::int64_t n : elements) {
    if (n == 0) continue;
    const std::int64_t first = begin / partition;
    const std::int64_t last = std::min((begin + n - 1) / partition, ranks - 1);
    for (std::int64_t rank = first; rank <= last; ++rank) {
      touched[static_cast<std::size_t>(rank)] += n;
    }
    begin += n;
  }
  return Largest(touched);
}

std::vector<std::int64_t> SubGroups(const std::vector<std::int64_t>& elements, std::int64_t size) {
  std::vector<std::int64_t> groups;
  std::int64_t group = 0;
  for (const std::int64_t n : elements) {
    group += n;
    if (group < size) continue;
    groups.push_back(group);
    group = 0;
  }
  if (group > 0) groups.push_back(group);
  return groups;
}

std::vector<Buffer> FlatStates(const plan::Plan& plan, std::int64_t elements,
                               program::Place place) {
  Trained flat;
  flat.elements = elements;
  flat.rows = elements;
  flat.cols = 1;
  flat.dtype = Dtype::kFp32;
  std::vector<Buffer> states;
  std::int32_t number = 0;
  for (const Bytes bytes : StateSizes(flat, plan)) {
    states.push_back({SlotOf(ZeroSlot::kStates, number++), bytes, Role::kOptimizerState,
                      "optimizer states of the partition", place, program::Stream::kCompute});
  }
  return states;
}

Buffer ForeachTemporary(const plan::Plan& plan, std::int64_t elements) {
  const bool is_foreach = plan.optimizer == spec::Optimizer::kAdamW &&
                          plan.optimizer_loop == spec::OptimizerLoop::kForeach;
  const std::int64_t copies =
      is_foreach ? plan.facts.Value(plan::Fact::kForeachTemporaries) : std::int64_t{0};
  return {SlotOf(ZeroSlot::kForeach), Bytes(copies * elements * spec::ElementBytes(Dtype::kFp32)),
          Role::kTemporary, "foreach AdamW"};
}

const program::Segment* RecordFreeTrained(const Frame& frame, program::SegmentStore& store) {
  return RecordLeaf(store, [&](Tape& tape) {
    const plan::Plan& plan = frame.plan();
    for (std::int32_t i = 0; i < frame.size(); ++i) {
      if (frame.held(i).trainable) {
        tape.FreeSlot(frame.WeightSlot(i),
                      ShardBytes(plan, frame.WeightLeaf(i).shape, frame.held(i).dtype),
                      Role::kWeights, Label(Name(frame.tensor(i).part)), WeightPlace(plan));
      }
      if (frame.held(i).lora_rank == 0) continue;
      for (const bool is_b : {false, true}) {
        const program::Leaf leaf = frame.AdapterLeaf(i, is_b);
        tape.FreeSlot(leaf.weight, ShardBytes(plan, leaf.shape, plan.adapter_dtype),
                      Role::kAdapterWeights, leaf.label);
      }
    }
  });
}

}  // namespace trainfit::frameworks::huggingface
