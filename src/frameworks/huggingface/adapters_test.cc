// Trainable parameters of PEFT's adapters, as PEFT prints them for Llama-3.2-3B with q_proj (3072 ×
// 3072) and v_proj (1024 × 3072) of 28 layers as targets.
#include "plan/adapters.h"

#include <gtest/gtest.h>

namespace trainfit::plan {
namespace {

using spec::AdapterKind;

std::int64_t Count(AdapterKind kind, std::int64_t rank, std::int64_t out, std::int64_t in,
                   bool is_feedforward = false) {
  std::int64_t count = 0;
  for (const AdapterTensor& tensor : AdapterTensors(kind, rank, out, in, is_feedforward)) {
    count += tensor.rows * tensor.cols;
  }
  return count;
}

std::int64_t QueryAndValue(AdapterKind kind, std::int64_t rank) {
  return 28 * (Count(kind, rank, 3072, 3072) + Count(kind, rank, 1024, 3072));
}

TEST(AdapterTensors, CountAsPeftPrintsThem) {
  EXPECT_EQ(QueryAndValue(AdapterKind::kLora, 32), 9'175'040);
  EXPECT_EQ(QueryAndValue(AdapterKind::kDora, 32), 9'289'728);
  EXPECT_EQ(QueryAndValue(AdapterKind::kAdalora, 64), 18'353'664);
  EXPECT_EQ(QueryAndValue(AdapterKind::kLoha, 32), 18'350'080);
  EXPECT_EQ(QueryAndValue(AdapterKind::kLokr, 32), 279'552);
  EXPECT_EQ(QueryAndValue(AdapterKind::kFourierft, 1000), 56'000);
}

// k_proj and v_proj scale their output, down_proj (3072 × 8192) its input.
TEST(AdapterTensors, Ia3ScalesTheInputOfFeedForwardModules) {
  const std::int64_t attention = 2 * Count(AdapterKind::kIa3, 1, 1024, 3072);
  const std::int64_t mlp = Count(AdapterKind::kIa3, 1, 3072, 8192, true);
  EXPECT_EQ(28 * (attention + mlp), 286'720);
}

TEST(Factorize, FindsTheDivisorsNearestToTheRoot) {
  EXPECT_EQ(Factorize(256).small, 16);
  EXPECT_EQ(Factorize(128).small, 8);
  EXPECT_EQ(Factorize(128).large, 16);
  EXPECT_EQ(Factorize(127).small, 1);
}

}  // namespace
}  // namespace trainfit::plan
