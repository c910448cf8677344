#include "spec/recipe.h"

#include <array>
#include <cstddef>

namespace trainfit::spec {
namespace {

template <typename Enum, std::size_t kCount>
std::string_view NameIn(const std::array<std::string_view, kCount>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view Name(Method method) {
  constexpr std::array<std::string_view, 3> kNames = {"full", "lora", "qlora"};
  return NameIn(kNames, method);
}
std::string_view Name(Precision precision) {
  constexpr std::array<std::string_view, 5> kNames = {"fp32", "bf16", "fp16", "bf16-pure",
                                                      "fp16-pure"};
  return NameIn(kNames, precision);
}
std::string_view Name(Optimizer optimizer) {
  constexpr std::array<std::string_view, 8> kNames = {
      "adamw", "adamw-8bit", "paged-adamw-8bit", "paged-adamw", "adafactor",
      "lion",  "sgd",        "sgd-momentum"};
  return NameIn(kNames, optimizer);
}
std::string_view Name(OptimizerLoop loop) {
  constexpr std::array<std::string_view, 3> kNames = {"fused", "foreach", "for-loop"};
  return NameIn(kNames, loop);
}
std::string_view Name(Checkpointing checkpointing) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "full", "selective", "per-operator"};
  return NameIn(kNames, checkpointing);
}
std::string_view Name(AttentionImplementation attention) {
  constexpr std::array<std::string_view, 5> kNames = {"eager", "sdpa", "flash2", "flash3", "cudnn"};
  return NameIn(kNames, attention);
}
std::string_view Name(LossKernel loss) {
  constexpr std::array<std::string_view, 5> kNames = {"plain", "liger", "in-place", "chunked",
                                                      "compiled"};
  return NameIn(kNames, loss);
}
std::string_view Name(Quantization quantization) {
  constexpr std::array<std::string_view, 6> kNames = {"nf4",   "fp4",   "int8",
                                                      "gptq4", "gptq8", "awq4"};
  return NameIn(kNames, quantization);
}
std::string_view Name(AdapterKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"lora", "dora", "adalora",  "ia3",
                                                      "loha", "lokr", "fourierft"};
  return NameIn(kNames, kind);
}
std::string_view Name(Sharding sharding) {
  constexpr std::array<std::string_view, 7> kNames = {"none",  "ddp",   "zero1", "zero2",
                                                      "zero3", "fsdp1", "fsdp2"};
  return NameIn(kNames, sharding);
}
std::string_view Name(Recompute recompute) {
  constexpr std::array<std::string_view, 7> kNames = {
      "core-attn", "layernorm", "mlp", "moe", "moe-act", "mla-up-proj", "shared-experts"};
  return NameIn(kNames, recompute);
}

}  // namespace trainfit::spec
