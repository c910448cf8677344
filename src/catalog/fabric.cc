#include "catalog/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainfit::catalog {
namespace {

// GPUs behind one set of NVLink switches in an NVL72 rack.
constexpr std::int64_t kGpusOfRack = 72;
constexpr double kBitsPerByte = 8;

Expected<std::optional<spec::Link>> LinkIfNamed(const Catalog& catalog, const std::string& id) {
  if (id.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(Match<spec::Link> match, catalog.FindLink(id));
  return std::move(match.record);
}

// PCIe as two cards use it: GeForce drivers stage copies in host memory.
Expected<std::optional<spec::Link>> OverPcie(const Catalog& catalog, const spec::Gpu& gpu) {
  const std::string staged = gpu.host_link + "-no-p2p";
  if (!gpu.supports_peer_access && catalog.Knows(Kind::kLink, staged)) {
    return LinkIfNamed(catalog, staged);
  }
  return LinkIfNamed(catalog, gpu.host_link);
}

// A network of which only the rate is known carries TCP.
Expected<std::optional<spec::Link>> Ethernet(const Catalog& catalog, double gbit_per_s) {
  struct Step {
    double gbit_per_s;
    const char* id;
  };
  constexpr Step kSteps[] = {{400, "eth-400g-tcp"}, {200, "eth-200g-tcp"}, {100, "eth-100g-tcp"},
                             {50, "eth-50g-tcp"},   {25, "eth-25g-tcp"},   {10, "eth-10g-tcp"},
                             {2.5, "eth-2p5g-tcp"}, {0, "eth-1g-tcp"}};
  const Step& step = *std::find_if(std::begin(kSteps), std::end(kSteps),
                                   [&](const Step& s) { return gbit_per_s >= s.gbit_per_s; });
  ASSIGN_OR_RETURN(Match<spec::Link> match, catalog.FindLink(step.id));
  spec::Link& link = match.record;
  // Several ports together, or a share of one: rates as those of the port below.
  const double scale = gbit_per_s / (link.one_way.value() * kBitsPerByte / 1e9);
  link.per = "node";
  link.one_way = link.one_way * scale;
  for (std::optional<BytesPerSecond>* rate : {&link.copy, &link.all_reduce_bus}) {
    if (*rate) **rate = **rate * scale;
  }
  return std::move(link);
}

struct Network {
  std::optional<spec::Link> link;
  std::int64_t ports = 1;
};

Expected<Network> NetworkOf(const Catalog& catalog, const spec::Offer& offer) {
  Network network;
  if (!offer.between_nodes_link.empty()) {
    ASSIGN_OR_RETURN(network.link, LinkIfNamed(catalog, offer.between_nodes_link));
    network.ports = offer.network_ports.value_or(offer.gpus);  // a port a GPU where it is not said
  } else if (offer.network_gbit_per_s) {
    ASSIGN_OR_RETURN(network.link, Ethernet(catalog, *offer.network_gbit_per_s));
  }
  return network;
}

// The machine whose network bare cards are taken to have: one's own first, then the largest.
std::optional<spec::Offer> Typical(const Catalog& catalog, const std::string& gpu_id) {
  const Expected<std::vector<InstanceRecord>> offers = catalog.OffersOf(gpu_id);
  if (!offers) return std::nullopt;  // a card that no machine has
  const spec::Offer* best = nullptr;
  const auto order = [](const spec::Offer& offer) {
    return std::pair(offer.tier == "owned", offer.gpus);
  };
  for (const InstanceRecord& record : *offers) {
    const spec::Offer& offer = record.offer;
    if (offer.between_nodes_link.empty() || record.sold_per_gpu || record.systems > 1) continue;
    if (best == nullptr || order(offer) > order(*best)) best = &offer;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

Expected<Network> TypicalNetwork(const Catalog& catalog, spec::Machine* machine) {
  const std::optional<spec::Offer> offer = Typical(catalog, machine->gpu.id);
  if (!offer) return Network{};
  ASSIGN_OR_RETURN(Network network, NetworkOf(catalog, *offer));
  network.ports = std::max<std::int64_t>(1, network.ports * machine->gpus_per_node / offer->gpus);
  const bool is_counted = network.link->per == "port";
  machine->assumptions.push_back(fmt::format(
      "between nodes: {}{}, as in {}; a machine's name or file says otherwise",
      is_counted ? fmt::format("{} x ", network.ports) : "", network.link->name, offer->id));
  return network;
}

}  // namespace

Expected<spec::Fabric> JoinGpus(const Catalog& catalog, const spec::Offer* offer,
                                spec::Machine* machine) {
  const spec::Gpu& gpu = machine->gpu;
  spec::Fabric fabric;
  const bool names_link = offer != nullptr && !offer->intra_node_link.empty();
  if (names_link) {
    ASSIGN_OR_RETURN(fabric.gpu_to_gpu, LinkIfNamed(catalog, offer->intra_node_link));
  } else if (gpu.bridged_gpus > 0) {
    ASSIGN_OR_RETURN(fabric.gpu_to_gpu, OverPcie(catalog, gpu));
  } else {
    ASSIGN_OR_RETURN(fabric.gpu_to_gpu, LinkIfNamed(catalog, gpu.gpu_to_gpu_link));
  }
  fabric.joined_gpus = machine->gpus_per_node;
  if (fabric.gpu_to_gpu && fabric.gpu_to_gpu->scope == "pair") {
    fabric.joined_gpus = std::max<std::int64_t>(2, gpu.bridged_gpus);
  } else if (fabric.gpu_to_gpu && fabric.gpu_to_gpu->scope == "rack") {
    fabric.joined_gpus = std::max(machine->gpus_per_node, kGpusOfRack);
  }
  const bool names_host = offer != nullptr && !offer->host_link.empty();
  ASSIGN_OR_RETURN(fabric.host,
                   LinkIfNamed(catalog, names_host ? offer->host_link : gpu.host_link));

  Network network;
  if (offer != nullptr) {
    ASSIGN_OR_RETURN(network, NetworkOf(catalog, *offer));
  }
  if (!network.link && machine->nodes > 1) {
    ASSIGN_OR_RETURN(network, TypicalNetwork(catalog, machine));
  }
  fabric.between_nodes = std::move(network.link);
  fabric.ports_per_node = network.ports;
  return fabric;
}

}  // namespace trainfit::catalog
