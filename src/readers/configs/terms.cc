#include "readers/configs/terms.h"

#include <array>
#include <cstddef>

namespace trainfit::readers {
namespace {

struct TermRow {
  std::string_view name;
  ValueKind kind;
};

// In the order of the enumeration.
constexpr std::array kRows = std::to_array<TermRow>({
    {"", ValueKind::kWord},
    {"model", ValueKind::kWord},
    {"task", ValueKind::kWord},
    {"micro-batch", ValueKind::kCount},
    {"global batch", ValueKind::kCount},
    {"gradient accumulation", ValueKind::kCount},
    {"sequence length", ValueKind::kCount},
    {"packing", ValueKind::kFlag},
    {"padding-free batches", ValueKind::kFlag},
    {"bf16 mixed precision", ValueKind::kFlag},
    {"fp16 mixed precision", ValueKind::kFlag},
    {"mixed precision", ValueKind::kWord},
    {"weights and states in bf16", ValueKind::kFlag},
    {"weights and states in fp16", ValueKind::kFlag},
    {"type of the loaded weights", ValueKind::kWord},
    {"adapters", ValueKind::kWord},
    {"bits of the weights", ValueKind::kWord},
    {"4-bit weights", ValueKind::kFlag},
    {"8-bit weights", ValueKind::kFlag},
    {"double quantization", ValueKind::kFlag},
    {"k-bit preparation", ValueKind::kFlag},
    {"type of the adapters", ValueKind::kWord},
    {"optimizer", ValueKind::kWord},
    {"activation checkpointing", ValueKind::kFlag},
    {"attention", ValueKind::kWord},
    {"loss kernel", ValueKind::kWord},
    {"Liger kernels", ValueKind::kFlag},
    {"LoRA rank", ValueKind::kCount},
    {"LoRA dropout", ValueKind::kFraction},
    {"LoRA targets", ValueKind::kNames},
    {"modules trained whole", ValueKind::kNames},
    {"DeepSpeed's configuration", ValueKind::kWord},
    {"ZeRO stage", ValueKind::kCount},
    {"optimizer offload", ValueKind::kWord},
    {"parameter offload", ValueKind::kWord},
    {"reduce bucket", ValueKind::kCount},
    {"prefetch bucket", ValueKind::kCount},
    {"parameters that stay gathered", ValueKind::kCount},
    {"reuse distance", ValueKind::kCount},
    {"optimizer sub-group", ValueKind::kCount},
    {"overlapped communication", ValueKind::kFlag},
    {"pinned host memory", ValueKind::kFlag},
    {"partitioned loading", ValueKind::kFlag},
    {"FSDP", ValueKind::kFlag},
    {"FSDP version", ValueKind::kCount},
    {"FSDP sharding", ValueKind::kWord},
    {"FSDP offload", ValueKind::kFlag},
    {"distribution", ValueKind::kWord},
    {"processes", ValueKind::kCount},
    {"processes a node", ValueKind::kCount},
    {"nodes", ValueKind::kCount},
    {"tensor parallel", ValueKind::kCount},
    {"pipeline parallel", ValueKind::kCount},
    {"context parallel", ValueKind::kCount},
    {"expert parallel", ValueKind::kCount},
    {"virtual stages", ValueKind::kCount},
    {"tensor parallel in experts", ValueKind::kCount},
    {"sequence parallel", ValueKind::kFlag},
    {"distributed optimizer", ValueKind::kFlag},
    {"overlapped reduction", ValueKind::kFlag},
    {"overlapped gather", ValueKind::kFlag},
    {"gradients in bf16", ValueKind::kFlag},
    {"format of 8-bit products", ValueKind::kWord},
    {"scales of 8-bit products", ValueKind::kWord},
    {"8-bit parameters", ValueKind::kFlag},
    {"recomputation", ValueKind::kWord},
    {"recomputation's method", ValueKind::kWord},
    {"layers recomputed", ValueKind::kCount},
    {"modules recomputed", ValueKind::kNames},
    {"hidden dropout", ValueKind::kFraction},
    {"attention dropout", ValueKind::kFraction},
});
static_assert(kRows.size() == kTerms);

}  // namespace

std::string_view Name(Term term) { return kRows.at(static_cast<std::size_t>(term)).name; }
ValueKind KindOf(Term term) { return kRows.at(static_cast<std::size_t>(term)).kind; }

}  // namespace trainfit::readers
