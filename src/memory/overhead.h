// Bytes that are fixed by software and card, not by the model: what lies outside PyTorch's
// allocator (CUDA context, NCCL) and what libraries take from it and keep (cuBLAS workspaces).
//
// These are the weakest terms of an estimate (±0.2–0.5 GiB), so each has a range and a source, and
// all numbers stand in tables that calibration can replace. An unknown card gets a wide range.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "memory/peak.h"
#include "memory/range.h"
#include "plan/facts.h"
#include "spec/machine.h"

namespace trainfit::memory {

// CUDA (HIP) context.

// The context of a training process with its kernels loaded. Since CUDA 11.7 kernels are loaded
// when they are first used, so the number grows during the first steps and then stays.
OverheadRow ContextOf(const spec::Gpu& gpu);

// CuBLAS.

// Workspaces per (handle, stream), taken from the caching allocator at the first matrix product and
// never freed. The forward pass and the autograd thread have a handle each.
struct CublasUse {
  std::int64_t handles = 2;  // threads that multiply matrices
  std::int64_t streams = 1;  // streams on which they do
  plan::Version torch = {2, 12, 0};
  Bytes configured = {};             // CUBLAS_WORKSPACE_CONFIG; 0: not set
  bool transformer_engine = false;   // its products have a workspace of their own
  std::int64_t grouped_streams = 0;  // and those of experts one for each of these streams
  bool linear_bias = false;  // linears with a bias go through cuBLASLt, which had its own 1 MiB
};
// What to give ReadPhases and SummarizePhases as `held`.
std::vector<HeldAllocation> CublasWorkspaces(const spec::Gpu& gpu, const CublasUse& use = {});
// The same as a row for a breakdown: bytes of one workspace.
OverheadRow CublasWorkspaceOf(const spec::Gpu& gpu, const CublasUse& use = {});

// NCCL (RCCL).

// The slowest kind of link between two neighbours of a group.
enum class Link : std::uint8_t {
  kNvlink,    // NVLink, NVSwitch, Infinity Fabric: many channels, direct peer buffers
  kPciePeer,  // PCIe with peer access
  kPcieHost,  // PCIe without it: staged through host memory (consumer GeForce)
  kNetwork,   // between nodes
  kUnknown,
};

// What a group is used for decides how many buffers it needs.
enum class Traffic : std::uint8_t {
  kCollective,    // all-reduce, all-gather, reduce-scatter
  kPointToPoint,  // pipeline send and receive
  kAllToAll,      // expert and Ulysses parallelism
};

// A group of ranks that really communicates; its buffers appear at its first use.
struct Communicator {
  std::string_view name;   // "data parallel"
  std::int64_t ranks = 1;  // groups of one hold (nearly) nothing
  Link link = Link::kUnknown;
  Traffic traffic = Traffic::kCollective;
  bool shares_resources = false;  // ncclCommSplit with shared resources
};
OverheadRow NcclOf(const spec::Gpu& gpu, std::span<const Communicator> communicators);

// What of the card is there.

// Memory that this process and its libraries may fill: CUDA's total, less what a desktop shows.
struct UsableOptions {
  bool drives_display = false;
};
OverheadRow UsableOf(const spec::Gpu& gpu, const UsableOptions& options = {});

// What PyTorch's segments may sum to: usable less everything outside the allocator. The replay's
// capacity; points of all rows, since the ranges are applied to the result.
Bytes AllocatorCapacity(const OverheadRow& usable, std::span<const OverheadRow> outside);

}  // namespace trainfit::memory
