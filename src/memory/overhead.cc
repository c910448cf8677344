#include "memory/overhead.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>

namespace trainfit::memory {
namespace {

constexpr Range InMiB(std::int64_t low, std::int64_t point, std::int64_t high) {
  return {low * kMiB, point * kMiB, high * kMiB};
}

// "8.9" → 89, "12.0" → 120; 0 when it is no such number (AMD targets, unknown cards).
int CapabilityOf(const spec::Gpu& gpu) {
  const std::string& text = gpu.compute_capability;
  const char* const end = text.data() + text.size();
  int major = 0;
  int minor = 0;
  const auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return 0;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return 0;
  return 10 * major + minor;
}

bool IsAmd(const spec::Gpu& gpu) { return gpu.vendor == "AMD"; }

// CUDA context.

struct ContextFact {
  int first = 0;  // compute capabilities, both ends included
  int last = 0;
  Range bytes;
  Basis basis = Basis::kAssumed;
  std::string_view source;
};

// Of a training process: kernels of cuBLAS, attention and elementwise operations loaded.
constexpr std::array kContexts = {
    ContextFact{70, 72, InMiB(250, 400, 700), Basis::kAssumed,
                "V100: between T4 and A100; 767 MiB outside torch with NCCL in an out-of-memory "
                "message of 8 x V100 (alpaca-rlhf issue 6)"},
    ContextFact{75, 75, InMiB(120, 145, 300), Basis::kMeasured,
                "T4: 133-147 MiB in 33 single-GPU training runs (fitcheck-llm)"},
    ContextFact{80, 80, InMiB(400, 520, 950), Basis::kMeasured,
                "A100: 481 MiB lazy, 942 eager (ml-engineering, training/performance, torch 2.1); "
                "499 outside torch while loading (LLaMA-Factory issue 257)"},
    ContextFact{86, 87, InMiB(230, 320, 500), Basis::kMeasured,
                "RTX 3090: 256 MiB (InvokeAI issue 9413, torch 2.7); A10G: 328 outside torch in an "
                "out-of-memory message"},
    ContextFact{89, 89, InMiB(300, 430, 580), Basis::kMeasured,
                "RTX 6000 Ada: 426 MiB (unsloth-zoo pull request 1053, torch 2.10 cu130)"},
    ContextFact{90, 90, InMiB(430, 560, 800), Basis::kMeasured,
                "a serving process on a data-center GPU: 616 MiB (LMCache issue 4019); A100 plus "
                "the larger Hopper kernels"},
    ContextFact{100, 110, InMiB(450, 650, 1000), Basis::kAssumed,
                "B200, B300: no measurement found; Hopper plus 100 MiB"},
    ContextFact{120, 129, InMiB(300, 480, 800), Basis::kAssumed,
                "RTX 50, RTX PRO Blackwell: no measurement found; Ada plus 50 MiB"},
    ContextFact{50, 62, InMiB(100, 200, 500), Basis::kAssumed,
                "Pascal and older: few modern kernels exist for it; Turing's values widened"},
};

constexpr std::string_view kContextName = "CUDA context";

// CuBLAS.

constexpr Bytes kHopperWorkspace{33'554'432};
constexpr Bytes kDefaultWorkspace = 2 * (4096 * kKiB) + 8 * (16 * kKiB);  // :4096:2:16:8
constexpr Bytes kMi300Workspace{134'217'728};
constexpr Bytes kLtWorkspace = 1 * kMiB;
constexpr Bytes kHipLtWorkspace = 76 * kMiB;

// aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize
Bytes WorkspaceBytes(const spec::Gpu& gpu, const CublasUse& use) {
  if (use.configured > Bytes()) return use.configured;
  if (IsAmd(gpu)) {
    const bool large =
        gpu.compute_capability.starts_with("gfx94") || gpu.compute_capability.starts_with("gfx95");
    return large ? kMi300Workspace : kHopperWorkspace;
  }
  const int capability = CapabilityOf(gpu);
  const bool hopper = capability / 10 == 9;
  // 32 MiB on Blackwell since pull request 175344 (merged after the 2.11 branch was cut).
  const bool blackwell = capability / 10 == 10 || capability / 10 == 12;
  const bool blackwell_since = use.torch >= plan::Version{2, 12, 0};
  return hopper || (blackwell && blackwell_since) ? kHopperWorkspace : kDefaultWorkspace;
}

// cuBLASLt shares cuBLAS' workspace since pull request 168175 (2.11); hipBLASLt never does.
Bytes LtWorkspaceBytes(const spec::Gpu& gpu, const CublasUse& use) {
  if (!use.linear_bias) return Bytes();
  if (IsAmd(gpu)) return kHipLtWorkspace;
  return use.torch >= plan::Version{2, 11, 0} ? Bytes() : kLtWorkspace;
}

// NCCL.

struct NcclFact {
  Link link = Link::kUnknown;
  Range first;    // what the first communicator brings, the library's kernels included
  Range further;  // each one after it
  Basis basis = Basis::kAssumed;
  std::string_view source;
};

constexpr std::array kNccl = {
    NcclFact{Link::kNvlink, InMiB(550, 1000, 1550), InMiB(350, 600, 750), Basis::kMeasured,
             "4 x A100: 544 MB for two ranks, 688 for more (nccl issue 964); 1.45 GiB after the "
             "first barrier (ml-engineering); 0.9-1.4 GiB beside the context in out-of-memory "
             "messages of 2-8 x A100/A800; 1.6 GB after the first all-reduce (nccl issue 864)"},
    NcclFact{Link::kPciePeer, InMiB(100, 250, 500), InMiB(50, 150, 300), Basis::kMeasured,
             "0.20 GiB for tensor parallelism on 24 GiB cards (vLLM pull request 14447); few "
             "channels, each with a 4 MiB buffer per direction and protocol (nccl issue 986)"},
    NcclFact{Link::kPcieHost, InMiB(80, 220, 450), InMiB(50, 130, 300), Basis::kMeasured,
             "as PCIe, buffers partly in host memory; about 420 MiB beside the context in an "
             "out-of-memory message of 4 x T4 (dolly issue 35)"},
    NcclFact{Link::kNetwork, InMiB(500, 1000, 1800), InMiB(300, 600, 900), Basis::kDerived,
             "within the node as NVLink; grows up to two nodes, then stays (nccl issues 986, 864); "
             "767-1628 MiB with the context in out-of-memory messages of 8-16 x V100"},
    NcclFact{Link::kUnknown, InMiB(100, 600, 1500), InMiB(50, 350, 750), Basis::kAssumed,
             "link not known: between PCIe and NVLink"},
};

const NcclFact& NcclFactOf(Link link) {
  return *std::find_if(kNccl.begin(), kNccl.end() - 1,
                       [&](const NcclFact& fact) { return fact.link == link; });
}

constexpr std::string_view kRcclSource =
    "RCCL: about 1 GiB for the first communicator, 0.65 GiB for each further one (LUMI-AI-Guide "
    "issue 111)";
constexpr Range kRcclFirst = InMiB(700, 1024, 1400);
constexpr Range kRcclFurther = InMiB(400, 666, 900);

// Buffers of direct connections: 32 channels × (10 MiB + 2 × 2 MiB) for each peer on NVLink, which
// gives the 1.06 → 4.34 GB of a first all-to-all on 8 × H100 (nccl issue 1685). Later versions open
// fewer channels, so it is the upper end.
constexpr std::int64_t kPeerMiB = std::int64_t{32} * 14;
constexpr std::int64_t kMaxDirectPeers = 7;  // beyond the node one shared buffer serves all peers

Range DirectPeers(const Communicator& communicator) {
  const bool nvlink = communicator.link == Link::kNvlink || communicator.link == Link::kNetwork;
  const std::int64_t most = communicator.traffic == Traffic::kPointToPoint ? 2 : kMaxDirectPeers;
  const std::int64_t peers = std::min(communicator.ranks - 1, most);
  const std::int64_t high = nvlink ? kPeerMiB * peers : kPeerMiB / 8 * peers;
  return InMiB(high / 16, high / 4, high);
}

Range NcclBytes(const spec::Gpu& gpu, const Communicator& communicator, bool first) {
  Range range;
  if (IsAmd(gpu)) {
    range = first ? kRcclFirst : kRcclFurther;
  } else {
    const NcclFact& fact = NcclFactOf(communicator.link);
    range = first ? fact.first : fact.further;
  }
  // A split communicator with shared resources adds next to nothing (nccl issue 986).
  if (!first && communicator.shares_resources) range = InMiB(0, 16, 64);
  if (communicator.traffic == Traffic::kCollective) return range;
  return AddIndependent(range, DirectPeers(communicator));
}

}  // namespace

OverheadRow ContextOf(const spec::Gpu& gpu) {
  if (IsAmd(gpu)) {
    return {"HIP context", InMiB(250, 600, 1100), Basis::kAssumed,
            "no measurement found: the range of CUDA contexts"};
  }
  const int capability = CapabilityOf(gpu);
  for (const ContextFact& fact : kContexts) {
    if (capability < fact.first || capability > fact.last) continue;
    return {kContextName, fact.bytes, fact.basis, fact.source};
  }
  return {kContextName, InMiB(130, 500, 1100), Basis::kAssumed,
          "the card is not in the table: from a T4 (133 MiB) to an A100 with eager loading (942)"};
}

OverheadRow CublasWorkspaceOf(const spec::Gpu& gpu, const CublasUse& use) {
  const Bytes bytes = WorkspaceBytes(gpu, use);
  return {"cuBLAS workspace",
          {bytes, bytes, bytes},
          use.configured > Bytes() ? Basis::kGiven : Basis::kSource,
          "aten/src/ATen/cuda/CublasHandlePool.cpp: 8 519 680 B, 32 MiB on Hopper (and on "
          "Blackwell from torch 2.12), one for each thread and stream"};
}

std::vector<HeldAllocation> CublasWorkspaces(const spec::Gpu& gpu, const CublasUse& use) {
  std::vector<HeldAllocation> held;
  for (std::int64_t i = 0; i < use.handles * use.streams; ++i) {
    held.push_back({WorkspaceBytes(gpu, use), "cuBLAS workspace"});
    const Bytes lt = LtWorkspaceBytes(gpu, use);
    if (lt > Bytes()) held.push_back({lt, "cuBLASLt workspace"});
  }
  if (!use.transformer_engine) return held;
  // transformer_engine/pytorch/cpp_extensions/gemm.py get_cublas_workspace_size_bytes
  const Bytes engine = CapabilityOf(gpu) >= 90 ? 32 * kMiB + Bytes(1024) : 4 * kMiB;
  for (std::int64_t i = 0; i < 1 + use.grouped_streams; ++i) {
    held.push_back({engine, "Transformer Engine workspace"});
  }
  return held;
}

OverheadRow NcclOf(const spec::Gpu& gpu, std::span<const Communicator> communicators) {
  OverheadRow row{IsAmd(gpu) ? "RCCL" : "NCCL", {}, Basis::kExact, "one rank: no communication"};
  bool first = true;
  for (const Communicator& communicator : communicators) {
    // A group of one rank is created but never connected. (NCCL 2.28 allocates 512 MiB even then
    // on B300, nccl issue 2363: counted a bug.)
    if (communicator.ranks <= 1) continue;
    // Further communicators repeat the first one's buffers: their errors are not independent.
    const Range more = NcclBytes(gpu, communicator, first);
    row.bytes = {row.bytes.low + more.low, row.bytes.point + more.point,
                 row.bytes.high + more.high};
    if (first) {
      const NcclFact& fact = NcclFactOf(communicator.link);
      row.basis = IsAmd(gpu) ? Basis::kMeasured : fact.basis;
      row.source = IsAmd(gpu) ? kRcclSource : fact.source;
    }
    first = false;
  }
  return row;
}

OverheadRow UsableOf(const spec::Gpu& gpu, const UsableOptions& options) {
  OverheadRow row{"usable memory",
                  {gpu.memory_usable, gpu.memory_usable, gpu.memory_usable},
                  gpu.memory_usable_basis,
                  "CUDA's total of the card"};
  if (options.drives_display) {
    row.bytes.low -= std::min(row.bytes.low, 1536 * kMiB);
    row.bytes.point -= std::min(row.bytes.point, 600 * kMiB);
    row.bytes.high -= std::min(row.bytes.high, 300 * kMiB);
    row.basis = Basis::kAssumed;
    row.source = "CUDA's total less 0.3-1.5 GiB of a desktop";
  }
  return row;
}

Bytes AllocatorCapacity(const OverheadRow& usable, std::span<const OverheadRow> outside) {
  Bytes capacity = usable.bytes.point;
  for (const OverheadRow& row : outside) capacity -= row.bytes.point;
  return std::max(capacity, Bytes());
}

}  // namespace trainfit::memory
