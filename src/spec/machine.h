// Hardware as plain values. Absent means unknown, never zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/basis.h"
#include "base/units.h"
#include "spec/link.h"

namespace trainfit::spec {

struct KernelRates;

struct Gpu {
  std::string id;    // catalogue id: "rtx-4090"
  std::string name;  // "GeForce RTX 4090"
  std::string vendor;
  std::string architecture;        // "Ada", "Hopper", …
  std::string compute_capability;  // "8.9"; AMD: the gfx target
  Bytes memory_usable;             // what a program can allocate (CUDA's total)
  Basis memory_usable_basis = Basis::kAssumed;
  std::string memory_printed;  // "24 GB", as the vendor prints it
  std::optional<BytesPerSecond> memory_bandwidth;
  std::optional<FlopsPerSecond> bf16;  // dense tensor-core rates, fp32 accumulation
  std::optional<FlopsPerSecond> fp16;
  std::optional<FlopsPerSecond> fp8;
  std::optional<FlopsPerSecond> tf32;
  std::optional<FlopsPerSecond> fp32;  // vector rate
  std::optional<std::int64_t> sm_count;
  std::optional<BytesPerSecond> nvlink_bidirectional;
  std::string pcie;               // "gen4x16"; empty: unknown
  std::string gpu_to_gpu_link;    // id of the link between two of them; empty: unknown
  std::int64_t bridged_gpus = 0;  // that link is a bridge between so many; 0: it is none
  std::string host_link;          // id of the link to the host
  bool supports_bf16 = true;
  bool supports_peer_access = false;  // PCIe P2P under the stock driver
  std::optional<Bytes> l2;
  std::optional<double> power_w;
  std::optional<double> boost_mhz;
  std::string form;  // "sxm", "pcie", "laptop", …
  // How near to its peaks it comes (spec/kernel_rates.h); null: typical rates.
  std::shared_ptr<const KernelRates> rates;
  std::vector<std::string> sources;
};

// One way to rent or own a machine.
struct Offer {
  std::string id;  // "aws-p4d.24xlarge"
  std::string provider;
  std::string gpu_id;
  std::int64_t gpus = 1;
  // Of a row that is one GPU of a larger machine: the numbers of GPUs on sale; empty: any.
  std::vector<std::int64_t> sizes;
  std::optional<DollarsPerSecond> price;  // of the whole machine, on demand
  std::optional<DollarsPerSecond> spot_price;
  std::string price_date;  // "2026-11-09"
  std::string tier;        // on-demand, secure, community, marketplace, owned
  std::string region;
  std::optional<Bytes> host_memory;
  std::optional<Bytes> local_disk;
  std::optional<std::int64_t> cpus;
  std::string intra_node_link;  // ids of links; empty: not said
  std::string host_link;
  std::string between_nodes_link;
  std::optional<double> network_gbit_per_s;
  std::optional<std::int64_t> network_ports;  // of that network, in one machine
  std::string source;
};

// How the GPUs of a machine reach each other, the host, and other machines.
struct Fabric {
  std::optional<Link> gpu_to_gpu;
  // GPUs that `gpu_to_gpu` joins: those of a bridge, of a node, of a rack. Others of the node are
  // reached over the host's link.
  std::int64_t joined_gpus = 1;
  std::optional<Link> host;
  std::optional<Link> between_nodes;
  // Of `between_nodes` in one node, where that link's rates are those of a port.
  std::int64_t ports_per_node = 1;
};

// nodes × gpus_per_node of one card, with what is known about the host.
struct Machine {
  Gpu gpu;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  std::optional<Bytes> host_memory_per_node;
  std::optional<Bytes> disk_per_node;
  Fabric fabric;
  std::optional<DollarsPerSecond> price;  // of all nodes together
  std::string price_source;               // offer id and date; empty: no price known
  std::string price_date;                 // "2026-11-09"; empty: no price known, or undated
  std::string written_as;                 // as the user wrote it: "8xA100-80"
  std::vector<std::string> assumptions;   // "SXM assumed; a100-pcie-80 is the other"

  std::int64_t Gpus() const { return nodes * gpus_per_node; }
};

}  // namespace trainfit::spec
