#include "time/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace trainfit::time {
namespace {

using program::KernelClass;
using program::Operation;

Card H100() {
  spec::Gpu gpu;
  gpu.bf16 = FlopsPerSecond(989e12);
  gpu.fp32 = FlopsPerSecond(67e12);
  gpu.memory_bandwidth = BytesPerSecond(3.35e12);
  gpu.sm_count = 132;
  return MakeCard(gpu);
}

Operation Gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kernel = KernelClass::kGemm,
          .flops =
              Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)),
          .moved = Bytes(2 * (m * k + n * k + m * n)),
          .shape = {m, n, k}};
}

Operation CausalAttention(std::int64_t length, std::int64_t batch) {
  const auto pairs = static_cast<double>(batch * length * (length + 1) / 2);
  return {.kernel = KernelClass::kAttentionForward,
          .flops = Flops(4 * pairs * 32 * 128),
          .moved = Bytes(8 * batch * length * 32 * 128),
          .shape = {length, 32, 128},
          .groups = batch};
}

double Time(const Operation& operation) { return KernelSeconds(operation, H100()).seconds.value(); }

TEST(KernelTest, NothingIsFasterThanThePeaks) {
  const Card card = H100();
  constexpr std::array<std::int64_t, 7> kSizes = {1, 16, 100, 1024, 4096, 5000, 32768};
  for (const std::int64_t m : kSizes) {
    for (const std::int64_t n : kSizes) {
      for (const std::int64_t k : kSizes) {
        const Operation gemm = Gemm(m, n, k);
        EXPECT_GT(Time(gemm), gemm.flops.value() / card.tensor_bf16);
        EXPECT_GT(Time(gemm), static_cast<double>(gemm.moved.value()) / card.bandwidth);
      }
    }
  }
}

TEST(KernelTest, LargerProductsTakeLonger) {
  for (std::int64_t size = 64; size < 20000; size = size * 3 / 2) {
    EXPECT_LE(Time(Gemm(size, 4096, 4096)), Time(Gemm(size * 2, 4096, 4096)));
    EXPECT_LE(Time(Gemm(4096, size, 4096)), Time(Gemm(4096, size * 2, 4096)));
    EXPECT_LT(Time(Gemm(4096, 4096, size)), Time(Gemm(4096, 4096, size * 2)));
    EXPECT_LT(Time(CausalAttention(size, 1)), Time(CausalAttention(size * 2, 1)));
    EXPECT_LT(Time(CausalAttention(size, 1)), Time(CausalAttention(size, 4)));
  }
}

// 133 tiles on 132 multiprocessors need two waves, or smaller tiles at a lower rate.
TEST(KernelTest, AnotherWaveCosts) {
  const double whole = Time(Gemm(256 * 12, 128 * 11, 8192));
  const double with_rest = Time(Gemm(256 * 12, 128 * 11 + 1, 8192));
  EXPECT_GT(with_rest, 1.2 * whole);
}

TEST(KernelTest, AnEmptyKernelTakesTheLaunchFloor) {
  Operation tiny{.kernel = KernelClass::kElementwise, .moved = Bytes(512)};
  const KernelTime one = KernelSeconds(tiny, H100());
  EXPECT_EQ(one.bound, Bound::kLaunch);
  tiny.kernels = 10;
  EXPECT_NEAR(KernelSeconds(tiny, H100()).seconds / one.seconds, 10, 0.01);
}

TEST(KernelTest, ThinProductsAreBoundByBandwidth) {
  EXPECT_EQ(KernelSeconds(Gemm(16, 8192, 8192), H100()).bound, Bound::kBandwidth);
  EXPECT_EQ(KernelSeconds(Gemm(8192, 8192, 8192), H100()).bound, Bound::kCompute);
}

TEST(KernelTest, TheFirstFlashAttentionIsSlower) {
  Operation operation = CausalAttention(16384, 1);
  const double second = Time(operation);
  operation.first_flash = true;
  EXPECT_NEAR(Time(operation) / second, 1.4, 0.1);
  operation.kernel = KernelClass::kAttentionBackward;
  const double backward = Time(operation);
  operation.first_flash = false;
  EXPECT_NEAR(backward / Time(operation), 2.0, 0.1);
}

}  // namespace
}  // namespace trainfit::time
