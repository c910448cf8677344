// Messages of programs that ran out of memory, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/units.h"

namespace trainfit::readers {

enum class OomKind : std::uint8_t {
  kGpu,            // the caching allocator: CUDA, HIP, XPU, MPS
  kGpuDriver,      // the driver itself: bitsandbytes, "CUDA error: out of memory"
  kGpuLibrary,     // cuBLAS and cuDNN handles and workspaces
  kNccl,           // NCCL's own buffers
  kHostAllocator,  // DefaultCPUAllocator
  kHostKilled,     // exit −9: the kernel's OOM killer, or Slurm's
  kPinned,         // page-locked host memory
  kShared,         // /dev/shm
  kDisk,
};
std::string_view Name(OomKind kind);

// An amount as printed: what was meant lies in [low, high].
struct PrintedBytes {
  Bytes value;
  Bytes low;
  Bytes high;
  std::string text;  // "16.83 GiB"
};

// Where the traceback says that it happened.
enum class OomMoment : std::uint8_t {
  kUnknown,
  kLoad,
  kInit,  // wrapping, ZeRO's and FSDP's setup
  kForward,
  kLoss,
  kBackward,
  kOptimizerStep,
  kEvaluate,
  kGenerate,
  kSave,
};
std::string_view Name(OomMoment moment);

struct OomMessage {
  OomKind kind = OomKind::kGpu;
  std::optional<PrintedBytes> requested;
  std::optional<PrintedBytes> capacity;
  std::optional<PrintedBytes> free;
  std::optional<PrintedBytes> in_use;       // by this process, the driver's view
  std::optional<PrintedBytes> allocated;    // by PyTorch
  std::optional<PrintedBytes> reserved;     // by PyTorch, allocated included
  std::optional<PrintedBytes> unallocated;  // reserved but unallocated
  std::optional<std::int64_t> device;
  OomMoment moment = OomMoment::kUnknown;
  std::string evidence;  // of the moment: the line of the traceback
  std::string line;      // the message itself, shortened
};

// Finds the last such message in a text (a log, a traceback, an issue). Errors: none is in it.
Expected<OomMessage> ReadOomMessage(std::string_view name, std::string_view text);

}  // namespace trainfit::readers
