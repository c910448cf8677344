#include "readers/configs/dialect.h"

namespace trainfit::readers {

std::span<const Dialect* const> Dialects() {
  static const Dialect* const kDialects[] = {&DeepSpeed(), &Accelerate(),  &Axolotl(),
                                             &Swift(),     &Megatron(),    &LlamaFactory(),
                                             &Trl(),       &Transformers()};
  return kDialects;
}

const Dialect* FindDialect(std::string_view name) {
  for (const Dialect* dialect : Dialects()) {
    if (dialect->name == name) return dialect;
  }
  return nullptr;
}

}  // namespace trainfit::readers
