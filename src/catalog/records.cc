#include "catalog/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"

namespace trainfit::catalog {
namespace {

using config::Node;
using config::NodeKind;

// Key lists, an object each. `parent` is empty for the record itself.
struct KeyList {
  std::string_view parent;
  std::span<const std::string_view> keys;
};

constexpr std::string_view kGpuKeys[] = {"id",
                                         "name",
                                         "aliases",
                                         "device_names",
                                         "vendor",
                                         "architecture",
                                         "compute_capability",
                                         "gfx_target",
                                         "form",
                                         "release",
                                         "memory",
                                         "peak",
                                         "measured",
                                         "links",
                                         "power_w",
                                         "launch_price_usd",
                                         "checks",
                                         "confidence",
                                         "as_of",
                                         "sources",
                                         "conflicts",
                                         "notes"};
constexpr std::string_view kGpuMemoryKeys[] = {
    "kind",         "unified",       "printed_gb",         "printed_gb_elsewhere",
    "printed_unit", "option_gb",     "driver_total_mib",   "usable_gib",
    "usable_basis", "usable_source", "bandwidth_gb_per_s", "l2_mib",
    "basis"};
constexpr std::string_view kGpuPeakKeys[] = {"bf16_dense_tflops",
                                             "fp16_dense_tflops",
                                             "fp16_fp16_accumulate_dense_tflops",
                                             "tf32_dense_tflops",
                                             "fp32_vector_tflops",
                                             "fp8_dense_tflops",
                                             "fp8_fp16_accumulate_dense_tflops",
                                             "fp4_dense_tflops",
                                             "int8_dense_tops",
                                             "has_bf16",
                                             "compute_units",
                                             "boost_mhz",
                                             "operations_per_clock",
                                             "devices_per_card",
                                             "basis"};
constexpr std::string_view kGpuMeasuredKeys[] = {"bf16_matmul_tflops", "source"};
constexpr std::string_view kGpuLinkKeys[] = {"pcie",
                                             "pcie_peer_to_peer",
                                             "scale_up",
                                             "scale_up_both_ways_gb_per_s",
                                             "scale_up_group_gpus",
                                             "gpu_to_gpu",
                                             "host"};
constexpr KeyList kGpuLists[] = {{"", kGpuKeys},
                                 {"memory", kGpuMemoryKeys},
                                 {"peak", kGpuPeakKeys},
                                 {"measured", kGpuMeasuredKeys},
                                 {"links", kGpuLinkKeys}};

constexpr std::string_view kInstanceKeys[] = {
    "id",           "aliases",    "provider", "kind",   "tier",  "gpu",     "gpu_count",
    "sold_per_gpu", "sizes_sold", "region",   "host",   "links", "network", "price",
    "power_w",      "basis",      "as_of",    "source", "notes"};
constexpr std::string_view kHostKeys[] = {
    "systems",           "vcpus",         "ram_gib",         "ram_gb",
    "ram_is_gpu_memory", "local_disk_gb", "local_disk_count"};
constexpr std::string_view kInstanceLinkKeys[] = {
    "pcie", "host", "pcie_peer_to_peer", "fabric", "fabric_both_ways_gb_per_s", "gpu_to_gpu"};
constexpr std::string_view kNetworkKeys[] = {"gbit_per_s", "rdma", "rdma_ports",
                                             "rdma_gbit_per_s_per_port", "node_to_node"};
constexpr std::string_view kPriceKeys[] = {
    "on_demand_usd_per_hour", "spot_usd_per_hour", "date", "region", "confidence", "history"};
constexpr std::string_view kInstanceBasisKeys[] = {"cpu_and_memory", "disk_and_network"};
constexpr KeyList kInstanceLists[] = {{"", kInstanceKeys},          {"host", kHostKeys},
                                      {"links", kInstanceLinkKeys}, {"network", kNetworkKeys},
                                      {"price", kPriceKeys},        {"basis", kInstanceBasisKeys}};

constexpr std::string_view kLinkKeys[] = {
    "id",       "name",         "aliases",    "kind",  "scope",   "per",       "nominal",
    "achieved", "measurements", "confidence", "as_of", "sources", "conflicts", "notes"};
constexpr std::string_view kNominalKeys[] = {"one_way_gb_per_s", "both_ways_gb_per_s",
                                             "lanes_or_links", "basis"};
constexpr std::string_view kAchievedKeys[] = {"copy_gb_per_s",
                                              "host_copy_gb_per_s",
                                              "all_reduce_bus_gb_per_s",
                                              "all_reduce_condition",
                                              "fraction_of_nominal",
                                              "latency_us",
                                              "basis"};
constexpr KeyList kLinkLists[] = {
    {"", kLinkKeys}, {"nominal", kNominalKeys}, {"achieved", kAchievedKeys}};

constexpr std::string_view kModelKeys[] = {"id",
                                           "aliases",
                                           "same_shapes",
                                           "params",
                                           "active_params",
                                           "tied_embeddings",
                                           "params_by_part",
                                           "params_check",
                                           "params_source",
                                           "license",
                                           "config_basis",
                                           "source",
                                           "as_of",
                                           "notes",
                                           "config"};
constexpr KeyList kModelLists[] = {{"", kModelKeys}};

std::span<const KeyList> ListsOf(Kind kind) {
  switch (kind) {
    case Kind::kGpu:
      return kGpuLists;
    case Kind::kInstance:
      return kInstanceLists;
    case Kind::kLink:
      return kLinkLists;
    case Kind::kModel:
      return kModelLists;
  }
  return {};
}

// Reads a record and collects what is wrong with it, so that one look shows all of it.
class RecordReader {
 public:
  RecordReader(Kind kind, const Node& record) : record_(record) {
    if (record.kind != NodeKind::kObject) {
      errors_.push_back(ErrorAt(record.Span(), "wrong-type",
                                fmt::format("expected an object, found {}", Name(record.kind))));
      return;
    }
    for (const KeyList& list : ListsOf(kind)) CheckKeys(list);
  }

  void Complain(const Node& node, std::string message) {
    errors_.push_back(ErrorAt(node.Span(), "wrong-value", std::move(message)));
  }
  bool ok() const { return errors_.empty(); }
  Diagnostics TakeErrors() { return std::move(errors_); }

  // The object of that name, or nullptr.
  const Node* Section(std::string_view key) {
    const Node* node = record_.Find(key);
    if (node == nullptr || node->kind == NodeKind::kObject) return node;
    errors_.push_back(
        ErrorAt(node->Span(), "wrong-type",
                fmt::format("{} must be an object, found {}", Quoted(key), Name(node->kind))));
    return nullptr;
  }

  std::string Text(std::string_view key) { return Take(config::GetString(record_, key)); }
  std::string TextOr(const Node* node, std::string_view key) {
    return node == nullptr ? "" : Take(config::GetStringOr(*node, key, ""));
  }
  bool BoolOr(const Node* node, std::string_view key, bool fallback) {
    return node == nullptr ? fallback : Take(config::GetBoolOr(*node, key, fallback));
  }
  std::int64_t Int(const Node* node, std::string_view key, std::int64_t min, std::int64_t max) {
    return node == nullptr ? min : Take(config::GetInt(*node, key, min, max));
  }
  std::optional<std::int64_t> IntIfThere(const Node* node, std::string_view key, std::int64_t min,
                                         std::int64_t max) {
    if (node == nullptr || node->Find(key) == nullptr) return std::nullopt;
    return Take(config::GetInt(*node, key, min, max));
  }
  double Number(const Node* node, std::string_view key, double min, double max) {
    return node == nullptr ? min : Take(config::GetDouble(*node, key, min, max));
  }
  std::optional<double> NumberIfThere(const Node* node, std::string_view key, double min,
                                      double max) {
    if (node == nullptr || node->Find(key) == nullptr) return std::nullopt;
    return Take(config::GetDouble(*node, key, min, max));
  }
  std::vector<std::string> Texts(std::string_view key) {
    std::vector<std::string> texts;
    for (const Node& item : Items(key)) {
      if (item.kind == NodeKind::kString) {
        texts.push_back(item.text);
      } else {
        Complain(item, fmt::format("{} must hold strings, found {}", Quoted(key), Name(item.kind)));
      }
    }
    return texts;
  }
  Basis BasisOr(const Node* node, std::string_view key, Basis fallback) {
    const std::string text = TextOr(node, key);
    if (text.empty()) return fallback;
    if (text == "measured") return Basis::kMeasured;
    if (text == "datasheet") return Basis::kDatasheet;
    if (text == "derived") return Basis::kDerived;
    // "unchecked" is a maker's figure from memory: no better than an assumption.
    if (text == "assumed" || text == "unchecked") return Basis::kAssumed;
    Complain(*node->Find(key), fmt::format("{} must be datasheet, measured, derived, assumed or "
                                           "unchecked, found {}",
                                           Quoted(key), Quoted(text)));
    return fallback;
  }
  // One of `words`.
  std::string Choice(const Node* node, std::string_view key,
                     std::initializer_list<std::string_view> words) {
    const std::string text = node == nullptr ? "" : Take(config::GetString(*node, key));
    if (text.empty() || std::find(words.begin(), words.end(), text) != words.end()) return text;
    Complain(*node->Find(key), fmt::format("{} must be {}, found {}", Quoted(key),
                                           fmt::join(words, " or "), Quoted(text)));
    return text;
  }
  const std::vector<Node>& Items(std::string_view key) {
    static const std::vector<Node> kNone;
    const Node* node = record_.Find(key);
    if (node == nullptr) return kNone;
    if (node->kind == NodeKind::kArray) return node->items;
    Complain(*node, fmt::format("{} must be an array, found {}", Quoted(key), Name(node->kind)));
    return kNone;
  }
  // A key without which the record says nothing.
  const Node* Required(std::string_view key) {
    const Node* section = Section(key);
    if (section == nullptr && record_.Find(key) == nullptr) {
      SourceSpan span = record_.Span();
      span.length = 1;
      errors_.push_back(ErrorAt(span, "missing-key", fmt::format("{} is missing", Quoted(key))));
    }
    return section;
  }

 private:
  template <typename T>
  T Take(Expected<T> value) {
    if (value.has_value()) return *std::move(value);
    for (Diagnostic& error : value.error()) errors_.push_back(std::move(error));
    return T();
  }

  void CheckKeys(const KeyList& list) {
    const Node* object = list.parent.empty() ? &record_ : record_.Find(list.parent);
    if (object == nullptr) return;
    for (const config::Member& member : object->members) {
      if (std::find(list.keys.begin(), list.keys.end(), member.key) != list.keys.end()) continue;
      const std::vector<std::string> known(list.keys.begin(), list.keys.end());
      SourceSpan span = member.value.Span();
      errors_.push_back(ErrorAt(span, "unknown-key",
                                fmt::format("there is no key {}", Quoted(member.key)),
                                NearestWord(member.key, known)));
    }
  }

  const Node& record_;
  Diagnostics errors_;
};

BytesPerSecond GbPerSecond(double gb) { return BytesPerSecond(gb * 1e9); }
FlopsPerSecond TFlops(double tflops) { return FlopsPerSecond(tflops * 1e12); }

constexpr double kMostGbPerS = 1e6;
constexpr double kMostTflops = 1e6;
constexpr double kMostGib = 1e6;
constexpr std::int64_t kMostDevices = 1024;

std::string PrintedText(double gb) { return fmt::format("{} GB", gb); }

void ReadMemory(RecordReader* reader, const Node* memory, GpuRecord* record) {
  const double printed = reader->Number(memory, "printed_gb", 0.1, kMostGib);
  const std::string unit = reader->Choice(memory, "printed_unit", {"binary", "decimal"});
  record->gpu.memory_printed = PrintedText(printed);
  record->printed_gb.push_back(printed);
  if (memory != nullptr && memory->Find("printed_gb_elsewhere") != nullptr) {
    for (const Node& item : memory->Find("printed_gb_elsewhere")->items) {
      record->printed_gb.push_back(item.real);
    }
  }
  const std::optional<double> usable = reader->NumberIfThere(memory, "usable_gib", 0.1, kMostGib);
  if (usable) {
    record->gpu.memory_usable = BytesFromGiB(*usable);
    record->gpu.memory_usable_basis = reader->BasisOr(memory, "usable_basis", Basis::kAssumed);
  } else {
    const double gib = unit == "decimal" ? printed * 1e9 / (1024.0 * 1024 * 1024) : printed;
    const bool is_hbm = reader->TextOr(memory, "kind").starts_with("HBM");
    record->gpu.memory_usable =
        BytesFromGiB(AssumedUsableGib(gib, is_hbm, reader->BoolOr(memory, "unified", false)));
    record->gpu.memory_usable_basis = Basis::kAssumed;
    record->usable_by_rule = true;
  }
  if (const auto rate = reader->NumberIfThere(memory, "bandwidth_gb_per_s", 0.1, kMostGbPerS)) {
    record->gpu.memory_bandwidth = GbPerSecond(*rate);
  }
  if (const auto mib = reader->NumberIfThere(memory, "l2_mib", 0.01, 1e6)) {
    record->gpu.l2 = Bytes(static_cast<std::int64_t>(*mib * static_cast<double>(kMiB.value())));
  }
}

void ReadPeak(RecordReader* reader, const Node* peak, GpuRecord* record) {
  spec::Gpu& gpu = record->gpu;
  const auto rate = [&](std::string_view key) -> std::optional<FlopsPerSecond> {
    const auto tflops = reader->NumberIfThere(peak, key, 0.001, kMostTflops);
    return tflops ? std::optional(TFlops(*tflops)) : std::nullopt;
  };
  gpu.bf16 = rate("bf16_dense_tflops");
  gpu.fp16 = rate("fp16_dense_tflops");
  gpu.fp8 = rate("fp8_dense_tflops");
  gpu.tf32 = rate("tf32_dense_tflops");
  gpu.fp32 = rate("fp32_vector_tflops");
  gpu.sm_count = reader->IntIfThere(peak, "compute_units", 1, 1 << 20);
  gpu.supports_bf16 = reader->BoolOr(peak, "has_bf16", gpu.bf16.has_value());
  gpu.boost_mhz = reader->NumberIfThere(peak, "boost_mhz", 1, 1e5);
  record->devices_per_card = reader->IntIfThere(peak, "devices_per_card", 1, 64).value_or(1);
}

// Figures of a card become those of one of its devices.
void DivideByDevices(GpuRecord* record) {
  const std::int64_t devices = record->devices_per_card;
  if (devices == 1) return;
  spec::Gpu& gpu = record->gpu;
  const auto part = static_cast<double>(devices);
  gpu.memory_usable = Bytes(gpu.memory_usable.value() / devices);
  gpu.memory_printed = PrintedText(record->printed_gb[0] / part) + " a device";
  for (auto* rate : {&gpu.bf16, &gpu.fp16, &gpu.fp8, &gpu.tf32, &gpu.fp32}) {
    if (*rate) **rate = **rate / part;
  }
  if (gpu.memory_bandwidth) gpu.memory_bandwidth = *gpu.memory_bandwidth / part;
  if (gpu.l2) gpu.l2 = Bytes(gpu.l2->value() / devices);
  if (gpu.power_w) gpu.power_w = *gpu.power_w / part;
  if (gpu.nvlink_bidirectional) gpu.nvlink_bidirectional = *gpu.nvlink_bidirectional / part;
  if (gpu.sm_count) gpu.sm_count = *gpu.sm_count / devices;
}

// "gen4x16" → "pcie-gen4-x16", the id of that link.
std::string PcieLinkId(std::string_view pcie) {
  const std::size_t lanes = pcie.find('x');
  if (lanes == std::string_view::npos) return {};
  return fmt::format("pcie-{}-{}", pcie.substr(0, lanes), pcie.substr(lanes));
}

std::optional<DollarsPerSecond> Price(RecordReader* reader, const Node* price,
                                      std::string_view key) {
  const auto dollars = reader->NumberIfThere(price, key, 0.0001, 1e7);
  return dollars ? std::optional(PerHour(Dollars(*dollars))) : std::nullopt;
}

}  // namespace

double AssumedUsableGib(double printed_gib, bool is_hbm, bool is_unified) {
  constexpr double kLargeUnifiedGib = 64;
  if (is_unified) return printed_gib * (printed_gib >= kLargeUnifiedGib ? 3.0 / 4 : 2.0 / 3);
  return printed_gib * (is_hbm ? 0.985 : 0.97);
}

Expected<GpuRecord> ReadGpu(const Node& node) {
  RecordReader reader(Kind::kGpu, node);
  if (!reader.ok()) return Fail(reader.TakeErrors());
  GpuRecord record;
  spec::Gpu& gpu = record.gpu;
  gpu.id = reader.Text("id");
  gpu.name = reader.Text("name");
  gpu.vendor = reader.TextOr(&node, "vendor");
  gpu.architecture = reader.TextOr(&node, "architecture");
  gpu.compute_capability = reader.TextOr(&node, "compute_capability");
  if (gpu.compute_capability.empty()) gpu.compute_capability = reader.TextOr(&node, "gfx_target");
  gpu.form = reader.TextOr(&node, "form");
  gpu.sources = reader.Texts("sources");
  ReadMemory(&reader, reader.Required("memory"), &record);
  ReadPeak(&reader, reader.Required("peak"), &record);
  gpu.power_w = reader.NumberIfThere(&node, "power_w", 1, 1e6);
  const Node* links = reader.Section("links");
  gpu.pcie = reader.TextOr(links, "pcie");
  gpu.supports_peer_access = reader.BoolOr(links, "pcie_peer_to_peer", false);
  gpu.gpu_to_gpu_link = reader.TextOr(links, "gpu_to_gpu");
  gpu.bridged_gpus = reader.IntIfThere(links, "scale_up_group_gpus", 2, kMostDevices).value_or(0);
  gpu.host_link = reader.TextOr(links, "host");
  if (const auto rate =
          reader.NumberIfThere(links, "scale_up_both_ways_gb_per_s", 0.1, kMostGbPerS)) {
    gpu.nvlink_bidirectional = GbPerSecond(*rate);
  }
  if (!reader.ok()) return Fail(reader.TakeErrors());
  DivideByDevices(&record);
  return record;
}

Expected<InstanceRecord> ReadInstance(const Node& node) {
  RecordReader reader(Kind::kInstance, node);
  if (!reader.ok()) return Fail(reader.TakeErrors());
  InstanceRecord record;
  spec::Offer& offer = record.offer;
  offer.id = reader.Text("id");
  offer.provider = reader.Text("provider");
  offer.tier = reader.TextOr(&node, "tier");
  offer.gpu_id = reader.Text("gpu");
  offer.gpus = reader.Int(&node, "gpu_count", 1, kMostDevices);
  record.sold_per_gpu = reader.BoolOr(&node, "sold_per_gpu", false);
  if (const Node* sizes = node.Find("sizes_sold"); sizes != nullptr && record.sold_per_gpu) {
    for (const Node& size : sizes->items) {
      if (size.kind == NodeKind::kInt && size.integer >= 1 && size.integer <= kMostDevices) {
        record.offer.sizes.push_back(size.integer);
      } else {
        reader.Complain(size, "a size is a number of GPUs");
      }
    }
  }

  const Node* host = reader.Section("host");
  // At least 1 even where the text was wrong: what follows divides by it.
  record.systems =
      std::max<std::int64_t>(1, reader.IntIfThere(host, "systems", 1, kMostDevices).value_or(1));
  if (offer.gpus % record.systems != 0) {
    reader.Complain(
        *host->Find("systems"),
        fmt::format("{} GPUs cannot be shared out to {} systems", offer.gpus, record.systems));
  }
  record.ram_is_gpu_memory = reader.BoolOr(host, "ram_is_gpu_memory", false);
  offer.cpus = reader.IntIfThere(host, "vcpus", 1, 1 << 20);
  if (const auto gib = reader.NumberIfThere(host, "ram_gib", 0.1, kMostGib)) {
    offer.host_memory = BytesFromGiB(*gib);
  } else if (const auto gb = reader.NumberIfThere(host, "ram_gb", 0.1, kMostGib)) {
    offer.host_memory = Bytes(static_cast<std::int64_t>(*gb * 1e9));
  }
  if (const auto gb = reader.NumberIfThere(host, "local_disk_gb", 0, 1e8)) {
    offer.local_disk = Bytes(static_cast<std::int64_t>(*gb * 1e9));
  }
  const Node* links = reader.Section("links");
  offer.intra_node_link = reader.TextOr(links, "gpu_to_gpu");
  offer.host_link = reader.TextOr(links, "host");
  if (offer.host_link.empty()) offer.host_link = PcieLinkId(reader.TextOr(links, "pcie"));
  const Node* network = reader.Section("network");
  offer.network_gbit_per_s = reader.NumberIfThere(network, "gbit_per_s", 0.001, kMostGbPerS);
  offer.between_nodes_link = reader.TextOr(network, "node_to_node");
  offer.network_ports = reader.IntIfThere(network, "rdma_ports", 1, kMostDevices);

  const Node* price = reader.Section("price");
  offer.price = Price(&reader, price, "on_demand_usd_per_hour");
  offer.spot_price = Price(&reader, price, "spot_usd_per_hour");
  offer.price_date = reader.TextOr(price, "date");
  offer.region = reader.TextOr(price, "region");
  if (offer.region.empty()) offer.region = reader.TextOr(&node, "region");
  offer.source = reader.TextOr(&node, "source");
  record.notes = reader.Texts("notes");
  if (!reader.ok()) return Fail(reader.TakeErrors());
  return record;
}

Expected<spec::Link> ReadLink(const Node& node) {
  RecordReader reader(Kind::kLink, node);
  if (!reader.ok()) return Fail(reader.TakeErrors());
  spec::Link link;
  link.id = reader.Text("id");
  link.name = reader.Text("name");
  link.kind = reader.TextOr(&node, "kind");
  link.scope = reader.TextOr(&node, "scope");
  link.per = reader.TextOr(&node, "per");
  link.confidence = reader.TextOr(&node, "confidence");
  link.sources = reader.Texts("sources");
  link.one_way = GbPerSecond(
      reader.Number(reader.Required("nominal"), "one_way_gb_per_s", 0.001, kMostGbPerS));
  const Node* achieved = reader.Section("achieved");
  const auto rate = [&](std::string_view key) -> std::optional<BytesPerSecond> {
    const auto gb = reader.NumberIfThere(achieved, key, 0.0001, kMostGbPerS);
    return gb ? std::optional(GbPerSecond(*gb)) : std::nullopt;
  };
  link.copy = rate("copy_gb_per_s");
  link.host_copy = rate("host_copy_gb_per_s");
  link.all_reduce_bus = rate("all_reduce_bus_gb_per_s");
  link.all_reduce_condition = reader.TextOr(achieved, "all_reduce_condition");
  if (const auto us = reader.NumberIfThere(achieved, "latency_us", 0.001, 1e9)) {
    link.latency = Seconds(*us * 1e-6);
  }
  link.achieved_basis = reader.BasisOr(achieved, "basis", Basis::kAssumed);
  if (!reader.ok()) return Fail(reader.TakeErrors());
  return link;
}

Expected<ModelRecord> ReadModel(const Node& node) {
  RecordReader reader(Kind::kModel, node);
  if (!reader.ok()) return Fail(reader.TakeErrors());
  constexpr std::int64_t kMostParams = 1'000'000'000'000'000;
  ModelRecord record;
  record.id = reader.Text("id");
  record.params = reader.IntIfThere(&node, "params", 1, kMostParams).value_or(0);
  record.active_params = reader.IntIfThere(&node, "active_params", 1, kMostParams);
  if (node.Find("tied_embeddings") != nullptr) {
    record.tied_embeddings = reader.BoolOr(&node, "tied_embeddings", false);
  }
  record.params_check = reader.TextOr(&node, "params_check");
  record.params_source = reader.TextOr(&node, "params_source");
  record.license = reader.TextOr(&node, "license");
  record.source = reader.TextOr(&node, "source");
  record.notes = reader.Texts("notes");
  if (const Node* config = reader.Required("config")) record.config = *config;
  if (!reader.ok()) return Fail(reader.TakeErrors());
  return record;
}

std::vector<std::string> KnownKeys(Kind kind) {
  std::vector<std::string> keys;
  for (const KeyList& list : ListsOf(kind)) {
    for (const std::string_view key : list.keys) {
      keys.push_back(list.parent.empty() ? std::string(key)
                                         : fmt::format("{}.{}", list.parent, key));
    }
  }
  return keys;
}

}  // namespace trainfit::catalog
