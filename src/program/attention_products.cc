#include "program/attention_products.h"

#include <array>

namespace trainfit::program {

void AttentionProducts::Run(Tape& tape, const char* label, AttentionProduct product) const {
  std::array<std::int64_t, 3> one{};
  switch (product) {
    case AttentionProduct::kScores:
      one = {queries, keys, head_dim};
      break;
    case AttentionProduct::kValues:
      one = {queries, head_dim, keys};
      break;
    case AttentionProduct::kTransposed:
      one = {keys, head_dim, queries};
      break;
  }
  const auto [m, n, k] = one;
  tape.Run({.kernel = KernelClass::kGemm,
            .label = label,
            .flops = Flops(2.0 * static_cast<double>(heads) * static_cast<double>(queries) *
                           static_cast<double>(keys) * static_cast<double>(head_dim)),
            .moved = heads * Bytes((m * k + n * k + m * n) * spec::ElementBytes(dtype)),
            .shape = {heads * m, n, k},
            .groups = heads,
            .dtype = dtype});
}

}  // namespace trainfit::program
