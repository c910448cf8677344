#include "readers/oom_message.h"

#include <gtest/gtest.h>

#include <string>

namespace trainfit::readers {
namespace {

OomMessage Read(const std::string& text) {
  const auto message = ReadOomMessage("log", text);
  EXPECT_TRUE(message.has_value()) << text;
  return message.has_value() ? *message : OomMessage{};
}

double GiBOf(const std::optional<PrintedBytes>& amount) {
  return amount ? static_cast<double>(amount->value.value()) / 1073741824.0 : -1;
}

TEST(OomMessage, FormatUntilTorch20) {
  const OomMessage message = Read(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB (GPU 1; 23.69 GiB total "
      "capacity; 18.25 GiB already allocated; 512.00 MiB free; 20.00 GiB reserved in total by "
      "PyTorch)");
  EXPECT_EQ(message.kind, OomKind::kGpu);
  EXPECT_EQ(GiBOf(message.requested), 2.5);
  EXPECT_EQ(message.device, 1);
  EXPECT_EQ(GiBOf(message.free), 0.5);
  EXPECT_EQ(GiBOf(message.allocated), 18.25);
  EXPECT_EQ(GiBOf(message.unallocated), 1.75);
}

TEST(OomMessage, FormatUntilTorch14) {
  const OomMessage message = Read(
      "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; 6.50 GiB "
      "already allocated; 9.06 MiB free; 6.75 GiB cached)");
  EXPECT_EQ(GiBOf(message.reserved), 6.75);
}

TEST(OomMessage, FormatSinceTorch21) {
  const OomMessage message = Read(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.73 GiB. GPU 0 has a total "
      "capacty of 21.99 GiB of which 723.00 MiB is free. Process 12 has 21.27 GiB memory in use. "
      "Of the allocated memory 17.75 GiB is allocated by PyTorch, and 2.50 GiB is reserved by "
      "PyTorch but unallocated.");
  EXPECT_EQ(GiBOf(message.allocated), 17.75);
  EXPECT_EQ(GiBOf(message.reserved), 20.25);
  // Two digits were printed.
  EXPECT_NEAR(GiBOf(message.requested), 3.73, 1e-6);
  EXPECT_LE(static_cast<double>(message.requested->low.value()), 3.7251 * 1073741824.0);
  EXPECT_GE(static_cast<double>(message.requested->high.value()), 3.7349 * 1073741824.0);
}

TEST(OomMessage, HipAndBrokenLines) {
  const OomMessage message = Read(
      "HIP out of memory. Tried to\nallocate 1.00 GiB. GPU 2 has a total capacity of\n63.98 "
      "GiB of which 0 bytes is free.");
  EXPECT_EQ(GiBOf(message.requested), 1.0);
  EXPECT_EQ(GiBOf(message.free), 0.0);
  EXPECT_EQ(message.device, 2);
}

TEST(OomMessage, OtherKinds) {
  EXPECT_EQ(Read("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.")
                .requested->value,
            Bytes(4096));
  EXPECT_EQ(Read("Error out of memory at line 380 in file x").kind, OomKind::kGpuDriver);
  EXPECT_EQ(Read("NCCL WARN Cuda failure 'out of memory'").kind, OomKind::kNccl);
  EXPECT_EQ(Read("exits with return code = -9").kind, OomKind::kHostKilled);
  EXPECT_EQ(Read("[Errno 28] No space left on device").kind, OomKind::kDisk);
  EXPECT_EQ(Read("CUBLAS_STATUS_ALLOC_FAILED when calling").kind, OomKind::kGpuLibrary);
  EXPECT_EQ(Read("cudaHostAlloc failed").kind, OomKind::kPinned);
  EXPECT_EQ(Read("workers are out of shared memory").kind, OomKind::kShared);
}

TEST(OomMessage, TheAllocatorsMessageIsTheCauseOfTheLaunchers) {
  EXPECT_EQ(Read("CUDA out of memory. Tried to allocate 1.00 GiB\nexitcode: -9").kind,
            OomKind::kGpu);
}

TEST(OomMessage, TheTracebackTellsTheMoment) {
  EXPECT_EQ(Read("File \"torch/optim/adamw.py\", line 1, in _init_group\nCUDA out of memory. Tried "
                 "to allocate 1.00 GiB")
                .moment,
            OomMoment::kOptimizerStep);
  EXPECT_EQ(
      Read("Loading checkpoint shards: 50%\nCUDA out of memory. Tried to allocate 1.00 GiB").moment,
      OomMoment::kLoad);
}

TEST(OomMessage, NothingIsMadeUp) {
  EXPECT_FALSE(ReadOomMessage("log", "all is well").has_value());
  EXPECT_FALSE(Read("CUDA out of memory.").requested.has_value());
  EXPECT_FALSE(Read("CUDA out of memory. Tried to allocate lots").requested.has_value());
  EXPECT_FALSE(
      Read("CUDA out of memory. Tried to allocate 99999999999999999999 GiB").requested.has_value());
}

}  // namespace
}  // namespace trainfit::readers
