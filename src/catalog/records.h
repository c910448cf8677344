// One record of the catalogue, as JSON, → plain values. The built-in data and a user's own file are
// read by the same functions. data/schema/ describes the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "catalog/names.h"
#include "config/node.h"
#include "spec/link.h"
#include "spec/machine.h"

namespace trainfit::catalog {

// A card as programs see it. Cards that show as several devices (MI250X: 2) are given as one
// device, with its part of memory, bandwidth and rates.
struct GpuRecord {
  spec::Gpu gpu;
  std::int64_t devices_per_card = 1;
  // Capacities in GB that people write for this card: as printed, and in other documents.
  std::vector<double> printed_gb;
  bool usable_by_rule = false;  // memory_usable is AssumedUsableGib, nobody has printed it
};

struct InstanceRecord {
  spec::Offer offer;
  bool sold_per_gpu = false;       // the row is one GPU of a larger machine
  std::int64_t systems = 1;        // separate computers in it: 18 in an NVL72 rack
  bool ram_is_gpu_memory = false;  // one pool for both (DGX Spark, Macs)
  std::vector<std::string> notes;
};

struct ModelRecord {
  std::string id;  // "meta-llama/Llama-3.1-8B"
  std::int64_t params = 0;
  std::optional<std::int64_t> active_params;  // mixture of experts
  std::optional<bool> tied_embeddings;        // absent: no head
  std::string params_check;                   // published; published, adjusted; shapes only
  std::string params_source;
  std::string license;
  std::string source;  // of the configuration
  std::vector<std::string> notes;
  config::Node config;  // as readers::ReadModelConfig takes it
};

Expected<GpuRecord> ReadGpu(const config::Node& record);
Expected<InstanceRecord> ReadInstance(const config::Node& record);
Expected<spec::Link> ReadLink(const config::Node& record);
Expected<ModelRecord> ReadModel(const config::Node& record);

// What a program can allocate of a card that nobody has printed yet: 0.97 of GDDR, 0.985 of HBM
// (ECC, driver and firmware take the rest), 2/3 to 3/4 of memory shared with the system (Metal's
// working-set limit). `printed_gib`: GiB on the card.
double AssumedUsableGib(double printed_gib, bool is_hbm, bool is_unified);

// The keys that the functions above know; any other is an error. Dotted for keys of keys:
// "memory.usable_gib". For the test that compares them with data/schema/.
std::vector<std::string> KnownKeys(Kind kind);

}  // namespace trainfit::catalog
