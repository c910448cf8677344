#include "frameworks/huggingface/host.h"

#include <algorithm>

#include "frameworks/huggingface/states.h"
#include "frameworks/huggingface/zero_partition.h"
#include "plan/zero.h"
#include "program/program.h"
#include "spec/dtype.h"

namespace trainfit::frameworks::huggingface {
namespace {

using program::Phase;
using program::Place;
using program::Role;
using program::Segment;
using program::Tape;
using spec::Sharding;

// Files of a checkpoint are at most so large (save_pretrained max_shard_size=5GB until
// transformers 5, with which nearly all files on the hub were written).
constexpr std::int64_t kFileBytes = 5'000'000'000;

enum class HostSlot : std::int32_t {
  kCopy = program::kFirstSharedSlot + 128,
  kFile,
  kDownload,
  kCheckpointWeights,
  kCheckpointStates,
  kOutput,
};

Buffer OnHost(HostSlot slot, Bytes bytes, Role role, const char* label,
              Place place = Place::kHost) {
  return {{program::kSharedFrame, static_cast<std::int32_t>(slot)}, bytes, role, label, place};
}

std::int64_t TrainedCount(const ModelFrames& frames) {
  // Shards of FSDP and ZeRO-3: times the ranks.
  const std::int64_t here = Sum(TrainedElements(frames));
  const Sharding sharding = frames.plan().parallel.sharding;
  const bool is_cut =
      sharding == Sharding::kZero3 || sharding == Sharding::kFsdp1 || sharding == Sharding::kFsdp2;
  const plan::Parallel& parallel = frames.plan().parallel;
  return here * parallel.tensor * (is_cut ? parallel.data : 1);
}

// Bytes of the optimizer's states of all ranks, and of the fp32 weights that it updates where the
// model's own are 16-bit (ZeRO).
Bytes AllStates(const ModelFrames& frames) {
  const std::int64_t trained = TrainedCount(frames);
  Bytes bytes;
  for (const Buffer& state : FlatStates(frames.plan(), trained, Place::kDisk)) bytes += state.bytes;
  if (plan::IsZero(frames.plan().parallel.sharding)) bytes += Bytes(trained * 4);
  return bytes;
}

// What a checkpoint of the model itself holds: PEFT writes the adapters alone.
Bytes SavedWeights(const ModelFrames& frames) {
  const plan::Plan& plan = frames.plan();
  if (plan.method == spec::Method::kFull) return WholeWeights(frames);
  return Bytes(TrainedCount(frames) * spec::ElementBytes(plan.adapter_dtype));
}

// What rank 0 gathers on the host when the model is saved.
Buffer Gathered(const ModelFrames& frames) {
  const plan::Plan& plan = frames.plan();
  switch (plan.parallel.sharding) {
    case Sharding::kZero3:
      // engine.py _zero3_consolidated_16bit_state_dict: all parameters, frozen ones too.
      return OnHost(HostSlot::kCopy, WholeWeights(frames), Role::kWeights,
                    "weights gathered on rank 0");
    case Sharding::kFsdp1: {
      // accelerate get_state_dict and save_fsdp_optimizer, FULL_STATE_DICT: offload_to_cpu,
      // rank0_only; the weights, then the states.
      const Bytes states = AllStates(frames);
      const bool is_states = states > WholeWeights(frames);
      return OnHost(HostSlot::kCopy, std::max(states, WholeWeights(frames)),
                    is_states ? Role::kOptimizerState : Role::kWeights,
                    "full state dict gathered on rank 0");
    }
    default:
      // safetensors.torch.save_file turns the tensors of one file into bytes.
      return OnHost(HostSlot::kFile, std::min(SavedWeights(frames), Bytes(kFileBytes)),
                    Role::kTemporary, "one file of the checkpoint");
  }
}

}  // namespace

LoadPath LoadPathOf(const plan::Plan& plan) {
  switch (plan.parallel.sharding) {
    case Sharding::kFsdp1:
    case Sharding::kFsdp2:
      return plan.facts.Is(plan::Fact::kFsdpLoadsOnce) ? LoadPath::kRankZero : LoadPath::kEveryRank;
    case Sharding::kZero3:
      if (plan.zero.init_partitioned) return LoadPath::kShardByOne;
      break;
    default:
      break;
  }
  // trl/trainer/sft_trainer.py leaves device_map out under DeepSpeed.
  const bool is_direct =
      plan.facts.Is(plan::Fact::kLoadsOntoGpu) && !plan::IsZero(plan.parallel.sharding);
  // bitsandbytes' weights go to the GPU one by one (transformers/modeling_utils.py: device_map is
  // the current device).
  const bool is_quantized = plan.method == spec::Method::kQlora;
  return is_direct || is_quantized ? LoadPath::kShardByOne : LoadPath::kEveryRank;
}

Bytes WholeWeights(const ModelFrames& frames) {
  const auto of_frame = [&](const Frame& frame) {
    Bytes bytes;
    for (std::int32_t i = 0; i < frame.size(); ++i) {
      // Quantized matrices lie in the files in 16 bits.
      const spec::Dtype dtype =
          frame.held(i).quantized_4bit ? frames.plan().compute_dtype : frame.held(i).dtype;
      bytes += Bytes(frame.tensor(i).Elements() * spec::ElementBytes(dtype));
    }
    return bytes;
  };
  Bytes bytes = of_frame(frames.before()) + of_frame(frames.after());
  for (const spec::LayerRun& run : frames.plan().model->Text().runs) {
    bytes += run.count * of_frame(frames.layers()[static_cast<std::size_t>(run.kind)]);
  }
  return frames.plan().parallel.tensor * bytes;
}

const Segment* RecordRankCopy(const ModelFrames& frames, bool allocate) {
  return RecordLeaf(frames.store(), [&](Tape& tape) {
    if (LoadPathOf(frames.plan()) != LoadPath::kEveryRank) return;
    const Buffer copy =
        OnHost(HostSlot::kCopy, WholeWeights(frames), Role::kWeights, "the rank's copy");
    // modeling_utils.py load_state_dict: file by file, mapped into memory, beside the model.
    const Buffer file = OnHost(HostSlot::kFile, std::min(copy.bytes, Bytes(kFileBytes)),
                               Role::kTemporary, "one file of the checkpoint");
    if (!allocate) {
      Free(tape, copy);
      return;
    }
    Alloc(tape, copy);
    Pass(tape, file);
  });
}

// accelerate get_state_dict: under ZeRO-1 and 2 every rank clones the whole model to the host
// (deepspeed/checkpoint/utils.py clone_tensors_for_torch_save).
const Segment* RecordRankSave(const ModelFrames& frames) {
  return RecordLeaf(frames.store(), [&](Tape& tape) {
    const Sharding sharding = frames.plan().parallel.sharding;
    if (sharding != Sharding::kZero1 && sharding != Sharding::kZero2) return;
    Pass(tape, OnHost(HostSlot::kCopy, WholeWeights(frames), Role::kWeights,
                      "the rank's clone of the state dict"));
  });
}

program::RankProgram RecordNode(const ModelFrames& frames) {
  const plan::Plan& plan = frames.plan();
  program::SegmentStore& store = frames.store();
  program::RankProgram node;
  node.role = "rank 0";
  const std::int64_t parameters = plan.parallel.tensor * spec::ParameterCount(*plan.model);
  node.phases.push_back(
      {Phase::kDownload, RecordLeaf(store, [&](Tape& tape) {
         Alloc(tape, OnHost(HostSlot::kDownload,
                            Bytes(parameters * spec::ElementBytes(plan.model->checkpoint_dtype)),
                            Role::kWeights, "downloaded checkpoint", Place::kDisk));
       })});
  node.phases.push_back({Phase::kLoad, RecordLeaf(store, [&](Tape& tape) {
                           const LoadPath path = LoadPathOf(plan);
                           if (path == LoadPath::kEveryRank) return;
                           const Bytes whole = WholeWeights(frames);
                           const Bytes file = std::min(whole, Bytes(kFileBytes));
                           Pass(tape,
                                OnHost(HostSlot::kCopy, path == LoadPath::kRankZero ? whole : file,
                                       Role::kWeights,
                                       path == LoadPath::kRankZero ? "the one copy that is loaded"
                                                                   : "one file of the checkpoint"));
                         })});
  for (const Phase phase : {Phase::kInit, Phase::kFirstStep, Phase::kSteadyStep}) {
    node.phases.push_back({phase, store.Empty()});
  }
  node.phases.push_back(
      {Phase::kSave, RecordLeaf(store, [&](Tape& tape) {
         Pass(tape, Gathered(frames));
         const Bytes weights = SavedWeights(frames);
         Alloc(tape, OnHost(HostSlot::kCheckpointWeights, weights, Role::kWeights,
                            "weights of one checkpoint", Place::kDisk));
         Alloc(tape, OnHost(HostSlot::kCheckpointStates, AllStates(frames), Role::kOptimizerState,
                            "optimizer of one checkpoint", Place::kDisk));
         Alloc(tape,
               OnHost(HostSlot::kOutput, weights, Role::kWeights, "final model", Place::kDisk));
       })});
  return node;
}

}  // namespace trainfit::frameworks::huggingface
