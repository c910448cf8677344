#include "time/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

namespace trainfit::time {
namespace {

using program::Collective;

constexpr double kMicrosecond = 1e-6;

enum Protocol { kLl, kLl128, kSimple };  // flag with each 8 bytes, each 128, a chunk
constexpr int kProtocols = 3;
using Latencies = std::array<double, kProtocols>;  // microseconds

constexpr Latencies kTreeBase = {6.8, 14.0, 8.4};
constexpr Latencies kRingBase = {6.6, 14.0, 8.4};
// Of one hop: hwLatencies.
struct Hops {
  Latencies tree;
  Latencies ring;
};
constexpr Hops kNvlinkHops = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr Hops kPcieHops = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr Hops kNetworkHops = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
// A ring across nodes posts to the network at every step: getNetOverhead, three for Simple.
constexpr Latencies kNetworkPost = {1, 1, 3};
// "Plateau effect of ring" for all-reduce over several nodes.
constexpr double kRingPlateau = 1.4;
// Parts of the rate that carry data: LL has a flag for each 4 bytes, LL128 for each 120; trees
// have less, as found by NVIDIA. LL's rate across nodes is bound by the CPU's (llMaxBws).
constexpr Latencies kRingShare = {0.5, 0.92, 1.0};
constexpr Latencies kTreeShareInside = {0.92 / 3.8, 0.92 * 7 / 9, 0.92};
constexpr Latencies kTreeShareBetween = {0.92 / 3.8, 0.92 * 120 / 128, 0.92};
constexpr BytesPerSecond kLlMostBetween{20e9};
// treeCorrectionFactor: "trees are not perfectly sticking to the model for medium sizes"; by powers
// of two from 64 B.
constexpr std::size_t kTreeSizes = 24;
constexpr double kTreeCorrection[kProtocols][kTreeSizes] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7,  .7,  .6,  .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1., 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6,  .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};
// Point-to-point: NCCL sends to all peers at once, and pays for each ("0.4 us arity
// serialization"). Copies by kernels reach about this part of a link's one-way rate.
constexpr double kPeerLatency = 0.4;
constexpr double kCopyShare = 0.8;

const Hops& HopsOf(const spec::Link* link) {
  return link != nullptr && (link->kind == "pcie") ? kPcieHops : kNvlinkHops;
}

// What NCCL's constants for a network, which are those of InfiniBand, do not have in them.
double ExtraLatency(const spec::Link* link) {
  if (link == nullptr || !link->latency) return 0;
  constexpr double kOfInfiniband = 2;
  return std::max(0.0, link->latency->value() / kMicrosecond - kOfInfiniband);
}

// Point-to-point links to each of the others (xGMI): a ring over few ranks uses few of them.
double LinksInUse(const LinkPath& path) {
  constexpr double kPeers = 7;
  if (path.inside->kind != "xgmi") return 1;
  return std::min(1.0, static_cast<double>(path.RanksInside() - 1) / kPeers);
}

BytesPerSecond InsideBus(const LinkPath& path) {
  return AchievedBus(*path.inside) * LinksInUse(path);
}

// A ring passes every link with all of its bytes.
BytesPerSecond RingBus(const LinkPath& path) {
  if (path.inside == nullptr) return path.between_achieved;
  if (path.between == nullptr) return InsideBus(path);
  return std::min(InsideBus(path), path.between_achieved);
}

double RingLatency(double steps, double between_steps, const LinkPath& path, Protocol protocol) {
  const Hops& inside = HopsOf(path.inside);
  if (path.islands == 1) return kRingBase[protocol] + steps * inside.ring[protocol];
  // With one rank a node nothing hides the network (tuning.cc: ppn == 1).
  const bool is_exposed = path.RanksInside() == 1;
  const double between =
      (is_exposed ? kNetworkHops.tree : kNetworkHops.ring)[protocol] + ExtraLatency(path.between);
  const double within = std::max(inside.ring[protocol], kNetworkPost[protocol]);
  return kRingBase[protocol] + (steps - between_steps) * within + between_steps * between;
}

double RingSeconds(Collective collective, double bytes, const LinkPath& path, Protocol protocol) {
  const bool twice = collective == Collective::kAllReduce;
  const auto ranks = static_cast<double>(path.ranks);
  const auto islands = static_cast<double>(path.islands);
  const double steps = (twice ? 2 : 1) * (ranks - 1);
  const double between_steps = path.islands == 1 ? 0 : (twice ? 2 : 1) * (islands - 1);
  double latency = RingLatency(steps, between_steps, path, protocol);
  if (twice && path.islands > 1 && protocol == kSimple) latency *= kRingPlateau;
  BytesPerSecond bus = RingBus(path) * kRingShare[protocol];
  if (protocol == kLl && path.islands > 1) bus = std::min(bus, kLlMostBetween);
  return latency * kMicrosecond + bytes * BusShare(collective, path.ranks) / bus.value();
}

// NCCL takes the factor of the power of two below; a straight line between powers keeps larger
// messages from being faster.
double TreeCorrection(Protocol protocol, double bytes) {
  const double power = std::log2(std::max(64.0, bytes) / 64);
  const auto below = static_cast<std::size_t>(power);
  if (below + 1 >= kTreeSizes) return 1;
  const auto& factors = kTreeCorrection[protocol];
  const double part = power - static_cast<double>(below);
  return factors[below] * (1 - part) + factors[below + 1] * part;
}

// All-reduce alone: up and down two trees over the nodes, chains within them.
double TreeSeconds(double bytes, const LinkPath& path, Protocol protocol) {
  const auto hops =
      std::log2(static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(path.islands))));
  const double between =
      path.islands == 1 ? 0 : kNetworkHops.tree[protocol] + ExtraLatency(path.between);
  const double latency = kTreeBase[protocol] + 2 * (static_cast<double>(path.RanksInside() - 1) *
                                                        HopsOf(path.inside).tree[protocol] +
                                                    hops * between);
  BytesPerSecond bus =
      RingBus(path) * (path.islands == 1 ? kTreeShareInside : kTreeShareBetween)[protocol];
  if (protocol == kLl && path.islands > 1) bus = std::min(bus, kLlMostBetween);
  bus = bus * TreeCorrection(protocol, bytes);
  constexpr double kUpAndDown = 2;
  return latency * kMicrosecond + kUpAndDown * bytes / bus.value();
}

double Fastest(Collective collective, double bytes, const LinkPath& path) {
  double best = std::numeric_limits<double>::infinity();
  for (const Protocol protocol : {kLl, kLl128, kSimple}) {
    // LL128 needs stores of 128 bytes to stay whole: not over PCIe.
    if (protocol == kLl128 && path.inside != nullptr && path.inside->kind == "pcie") continue;
    best = std::min(best, RingSeconds(collective, bytes, path, protocol));
    if (collective == Collective::kAllReduce) {
      best = std::min(best, TreeSeconds(bytes, path, protocol));
    }
  }
  return best;
}

// One copy to a neighbour.
double SendSeconds(double bytes, const LinkPath& path) {
  if (path.between != nullptr) {
    const double latency =
        kRingBase[kSimple] + kNetworkHops.tree[kSimple] + ExtraLatency(path.between);
    const BytesPerSecond rate = path.between_achieved / static_cast<double>(path.RanksInside());
    return latency * kMicrosecond + bytes / rate.value();
  }
  const double latency = kRingBase[kSimple] + HopsOf(path.inside).ring[kSimple];
  const BytesPerSecond nominal = path.inside->one_way * (kCopyShare * LinksInUse(path));
  return latency * kMicrosecond +
         bytes / std::min(nominal, path.inside->copy.value_or(nominal)).value();
}

double AllToAllSeconds(double bytes, const LinkPath& path) {
  const auto ranks = static_cast<double>(path.ranks);
  const auto inside = static_cast<double>(path.RanksInside());
  double latency = kRingBase[kLl128] + (ranks - 1) * kPeerLatency;
  double seconds = 0;
  if (path.inside != nullptr) {
    seconds = bytes * (inside - 1) / ranks / (InsideBus(path).value());
  }
  if (path.between != nullptr) {
    latency += kNetworkHops.tree[kSimple] + ExtraLatency(path.between);
    const double rate = path.between_achieved.value() / inside;
    seconds = std::max(seconds, bytes * (ranks - inside) / ranks / rate);
  }
  return latency * kMicrosecond + seconds;
}

}  // namespace

double BusShare(Collective collective, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kNone:
      return 0;
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      return 1;
  }
  return 0;
}

Seconds NcclSeconds(Collective collective, Bytes bytes, const LinkPath& path) {
  if (path.ranks <= 1) return Seconds();
  const auto size = static_cast<double>(bytes.value());
  switch (collective) {
    case Collective::kNone:
      return Seconds();
    case Collective::kAllToAll:
      return Seconds(AllToAllSeconds(size, path));
    case Collective::kSendReceive:
      return Seconds(SendSeconds(size, path));
    default:
      return Seconds(Fastest(collective, size, path));
  }
}

}  // namespace trainfit::time
