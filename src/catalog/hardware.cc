#include "catalog/hardware.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numeral.h"
#include "base/text.h"
#include "catalog/fabric.h"

namespace trainfit::catalog {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;
// Beyond this no single machine is sold with PCIe or SXM cards.
constexpr std::int64_t kMostGpusPerNode = 16;
// Of an offer that is one GPU of a machine; keeps the sums of bytes far from their limit.
constexpr std::int64_t kMostGpusPerOffer = 1024;

constexpr std::string_view kForms =
    "write GPU, GPUSxGPU or NODESxGPUSxGPU: rtx-4090, 8xA100-80, 2x8xA100-80";

// "8x8xA100-80" in parts.
struct Notation {
  std::vector<std::int64_t> counts;  // none, one or two
  std::string_view name;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Length of what may stand for "x" at the beginning of `text`, 0 if nothing does. A space alone
// does as well where `space_counts`.
std::size_t TimesLength(std::string_view text, bool space_counts) {
  constexpr std::string_view kCross = "\xc3\x97";  // ×
  std::size_t at = text.find_first_not_of(" \t");
  if (at == std::string_view::npos) return 0;
  const bool has_space = at > 0;
  if (text[at] == 'x' || text[at] == 'X' || text[at] == '*') {
    ++at;
  } else if (text.substr(at).starts_with(kCross)) {
    at += kCross.size();
  } else {
    return has_space && space_counts ? at : 0;
  }
  const std::size_t next = text.find_first_not_of(" \t", at);
  return next == std::string_view::npos ? text.size() : next;
}

Diagnostic BadCount(std::string_view text, std::string_view digits, std::int64_t most) {
  return Error(
      "bad-count",
      fmt::format("{}: {} is no number of GPUs or machines", Quoted(text), Printable(digits)),
      fmt::format("a number from 1 to {}", most));
}

Expected<std::int64_t> ReadCount(std::string_view text, std::string_view digits) {
  const std::optional<std::int64_t> count = ParseInteger(digits);
  if (!count || *count < 1 || *count > kMostGpus) return Fail(BadCount(text, digits, kMostGpus));
  return *count;
}

// Splits counts off the front, and "NAME:8" off the end. The catalogue says where a name begins
// that itself has digits and an x: "4x7900xtx".
Expected<Notation> Split(const Catalog& catalog, std::string_view text) {
  Notation notation;
  notation.name = Trim(text);
  const std::size_t colon = notation.name.rfind(':');
  if (colon != std::string_view::npos) {
    ASSIGN_OR_RETURN(const std::int64_t count,
                     ReadCount(text, Trim(notation.name.substr(colon + 1))));
    notation.counts.push_back(count);
    notation.name = Trim(notation.name.substr(0, colon));
  }
  while (notation.counts.size() < 2 && !catalog.Knows(Kind::kGpu, notation.name)) {
    std::size_t digits = 0;
    while (digits < notation.name.size() && IsDigit(notation.name[digits])) ++digits;
    if (digits == 0) break;
    // "4090 24GB" is one card.
    constexpr std::size_t kLongestBareCount = 3;
    const std::size_t times =
        TimesLength(notation.name.substr(digits), digits <= kLongestBareCount);
    if (times == 0) break;
    ASSIGN_OR_RETURN(const std::int64_t count, ReadCount(text, notation.name.substr(0, digits)));
    // The count after a name belongs innermost: "2xA100:8" is two nodes of 8.
    notation.counts.insert(
        colon == std::string_view::npos ? notation.counts.end() : notation.counts.begin(), count);
    notation.name = notation.name.substr(digits + times);
  }
  return notation;
}

// The complaint about too many GPUs.
std::optional<Diagnostic> CheckTotal(std::string_view text, std::int64_t nodes,
                                     std::int64_t per_node) {
  if (nodes <= kMostGpus / per_node) return std::nullopt;
  return Error(
      "bad-count",
      fmt::format("{}: {} x {} GPUs are more than {}", Quoted(text), nodes, per_node, kMostGpus),
      std::string(kForms));
}

// GPUs a node when only their total is written.
Expected<std::int64_t> GuessPerNode(std::string_view text, const spec::Gpu& gpu,
                                    std::string_view id, std::int64_t gpus,
                                    std::vector<std::string>* assumptions) {
  const bool is_rack = gpu.form == "superchip";
  const std::int64_t usual = is_rack ? 4 : 8;  // a tray of an NVL72 rack; an HGX board
  if (gpus <= (is_rack ? usual : kMostGpusPerNode)) return gpus;
  if (gpus % usual != 0) {
    return Fail(Error("bad-count",
                      fmt::format("{}: no single machine has {} of these GPUs", Quoted(text), gpus),
                      fmt::format("NODESxGPUSx{}", id)));
  }
  assumptions->push_back(fmt::format("{} nodes of {} GPUs; another split is written NODESxGPUSx{}",
                                     gpus / usual, usual, id));
  return usual;
}

Expected<spec::Machine> FromGpu(const Catalog& catalog, std::string_view text,
                                const Notation& notation) {
  ASSIGN_OR_RETURN(Match<GpuRecord> match, catalog.FindGpu(notation.name));
  spec::Machine machine;
  machine.gpu = std::move(match.record.gpu);
  machine.assumptions = std::move(match.assumptions);
  const std::vector<std::int64_t>& counts = notation.counts;
  if (counts.size() == 2) {
    machine.nodes = counts[0];
    machine.gpus_per_node = counts[1];
  } else {
    const std::int64_t gpus = counts.empty() ? 1 : counts[0];
    ASSIGN_OR_RETURN(machine.gpus_per_node,
                     GuessPerNode(text, machine.gpu, machine.gpu.id, gpus, &machine.assumptions));
    machine.nodes = gpus / machine.gpus_per_node;
  }
  if (auto error = CheckTotal(text, machine.nodes, machine.gpus_per_node)) {
    return Fail(*std::move(error));
  }
  const std::int64_t total = machine.nodes * machine.gpus_per_node;
  const std::int64_t devices = match.record.devices_per_card;
  if (devices > 1) {
    machine.gpus_per_node *= devices;
    machine.assumptions.push_back(fmt::format("a {} shows as {} devices: {} in all", machine.gpu.id,
                                              devices, total * devices));
  }
  ASSIGN_OR_RETURN(machine.fabric, JoinGpus(catalog, nullptr, &machine));
  machine.written_as = Trim(text);
  return machine;
}

// What the machine brings beside its GPUs, `machines` of it.
void AddHost(const InstanceRecord& record, std::int64_t machines, std::int64_t gpus_of_offer,
             spec::Machine* machine) {
  const spec::Offer& offer = record.offer;
  // Memory and disk of a row that is one GPU of a machine grow with the GPUs taken.
  const auto per_node = [&](const std::optional<Bytes>& bytes) -> std::optional<Bytes> {
    if (!bytes) return std::nullopt;
    return Bytes(bytes->value() * gpus_of_offer / record.systems);
  };
  machine->host_memory_per_node = per_node(offer.host_memory);
  machine->disk_per_node = per_node(offer.local_disk);
  if (record.ram_is_gpu_memory && offer.host_memory) {
    machine->assumptions.push_back(
        "the GPU shares its memory with the host: both draw on one pool");
  }
  if (!offer.price) return;
  machine->price = *offer.price * static_cast<double>(machines * gpus_of_offer);
  machine->price_date = offer.price_date;
  machine->price_source =
      fmt::format("{}, {}{}, read {}", offer.id, offer.tier,
                  offer.region.empty() ? "" : ", " + offer.region, offer.price_date);
}

Expected<spec::Machine> FromInstance(const Catalog& catalog, std::string_view text,
                                     const Notation& notation) {
  ASSIGN_OR_RETURN(Match<InstanceRecord> match, catalog.FindInstance(notation.name));
  const InstanceRecord& record = match.record;
  ASSIGN_OR_RETURN(Match<GpuRecord> gpu, catalog.FindGpu(record.offer.gpu_id));
  spec::Machine machine;
  machine.assumptions = std::move(match.assumptions);
  for (std::string& assumption : gpu.assumptions) {
    machine.assumptions.push_back(std::move(assumption));
  }
  std::int64_t machines = notation.counts.empty() ? 1 : notation.counts[0];
  std::int64_t gpus_of_offer = 1;
  if (record.sold_per_gpu && notation.counts.size() == 2) {
    gpus_of_offer = notation.counts[1];
  } else if (record.sold_per_gpu) {
    const std::int64_t gpus = machines;
    ASSIGN_OR_RETURN(gpus_of_offer, GuessPerNode(text, gpu.record.gpu, record.offer.id, gpus,
                                                 &machine.assumptions));
    machines = gpus / gpus_of_offer;
    if (machines == 1 && gpus > 1) {
      machine.assumptions.push_back(
          fmt::format("{} GPUs of {} in one machine", gpus, record.offer.id));
    }
  } else if (notation.counts.size() == 2) {
    return Fail(Error(
        "bad-count",
        fmt::format("{}: {} already has {} GPUs", Quoted(text), record.offer.id, record.offer.gpus),
        fmt::format("{}x{}", machines, record.offer.id)));
  }
  if (gpus_of_offer > kMostGpusPerOffer) {
    return Fail(BadCount(text, std::to_string(gpus_of_offer), kMostGpusPerOffer));
  }
  machine.nodes = machines * record.systems;
  machine.gpus_per_node =
      record.offer.gpus * gpus_of_offer * gpu.record.devices_per_card / record.systems;
  if (auto error = CheckTotal(text, machine.nodes, machine.gpus_per_node)) {
    return Fail(*std::move(error));
  }
  machine.gpu = std::move(gpu.record.gpu);
  AddHost(record, machines, gpus_of_offer, &machine);
  ASSIGN_OR_RETURN(machine.fabric, JoinGpus(catalog, &record.offer, &machine));
  machine.written_as = Trim(text);
  return machine;
}

// What both catalogues together know near the name.
Diagnostic UnknownHardware(const Catalog& catalog, std::string_view name) {
  std::string near;
  for (const Kind kind : {Kind::kGpu, Kind::kInstance}) {
    for (const std::string& id : catalog.Near(kind, name)) near += (near.empty() ? "" : ", ") + id;
  }
  if (near.empty()) near = "trainfit gpus, trainfit instances list what is known";
  return Error("unknown-hardware", fmt::format("no GPU or machine is called {}", Quoted(name)),
               std::move(near));
}

constexpr std::string_view kOwnMachine = "own-machine";

void FillIn(std::string_view key, const config::Node& value, config::Node* record) {
  if (record->Find(key) != nullptr) return;
  record->members.push_back({std::string(key), value.begin, value.begin, value});
}

// The card of a machine file, a name or a whole record. In `record` its id takes that place; with
// no "gpu" there, the reader of the record will complain.
Expected<GpuRecord> TakeGpu(const Catalog& catalog, config::Node* record,
                            std::vector<std::string>* assumptions) {
  GpuRecord gpu;
  for (config::Member& member : record->members) {
    if (member.key != "gpu") continue;
    config::Node& value = member.value;
    if (value.kind == config::NodeKind::kObject) {
      ASSIGN_OR_RETURN(gpu, ReadGpu(value));
      gpu.gpu.rates =
          std::make_shared<const spec::KernelRates>(RatesOf(gpu.gpu.compute_capability));
      value.kind = config::NodeKind::kString;
      value.members.clear();
    } else if (value.kind == config::NodeKind::kString) {
      Expected<Match<GpuRecord>> match = catalog.FindGpu(value.text);
      if (!match) {
        for (Diagnostic& error : match.error()) error.span = value.Span();
        return Fail(std::move(match).error());
      }
      gpu = std::move(match->record);
      *assumptions = std::move(match->assumptions);
    }
    if (value.kind == config::NodeKind::kString) value.text = gpu.gpu.id;
  }
  return gpu;
}

}  // namespace

Expected<spec::Machine> ParseHardware(const Catalog& catalog, std::string_view text) {
  const std::string_view whole = Trim(text);
  if (whole.empty()) {
    return Fail(Error("empty-hardware", "the hardware is empty", std::string(kForms)));
  }
  ASSIGN_OR_RETURN(const Notation notation, Split(catalog, text));
  if (notation.name.empty()) {
    return Fail(
        Error("empty-hardware", fmt::format("{}: which GPU?", Quoted(text)), std::string(kForms)));
  }
  // A machine's name says more: "dgx-spark" is known as a GPU as well.
  if (catalog.Knows(Kind::kInstance, notation.name)) return FromInstance(catalog, text, notation);
  Expected<spec::Machine> machine = FromGpu(catalog, text, notation);
  if (!machine && machine.error()[0].code == "unknown-gpu") {
    return Fail(UnknownHardware(catalog, notation.name));
  }
  return machine;
}

Expected<spec::Machine> ReadMachine(const Catalog& catalog, const config::Node& file) {
  if (file.kind != config::NodeKind::kObject) {
    return Fail(ErrorAt(file.Span(), "wrong-type",
                        fmt::format("a machine is an object, found {}", Name(file.kind))));
  }
  ASSIGN_OR_RETURN(const std::int64_t nodes, config::GetIntOr(file, "nodes", 1, kMostGpus, 1));
  // The rest is an instance record once what such a record must have is filled in.
  config::Node record = file;
  std::erase_if(record.members, [](const config::Member& m) { return m.key == "nodes"; });
  config::Node text = file;  // the position of what is filled in is that of the whole file
  text.members.clear();
  text.kind = config::NodeKind::kString;
  text.text = kOwnMachine;
  FillIn("id", text, &record);
  text.text = "owned";
  FillIn("provider", text, &record);
  config::Node one = text;
  one.kind = config::NodeKind::kInt;
  one.integer = 1;
  one.real = 1;
  FillIn("gpu_count", one, &record);

  spec::Machine machine;
  ASSIGN_OR_RETURN(GpuRecord gpu, TakeGpu(catalog, &record, &machine.assumptions));
  ASSIGN_OR_RETURN(const InstanceRecord instance, ReadInstance(record));
  machine.gpu = std::move(gpu.gpu);
  machine.nodes = nodes * instance.systems;
  machine.gpus_per_node = instance.offer.gpus * gpu.devices_per_card / instance.systems;
  if (auto error = CheckTotal(instance.offer.id, machine.nodes, machine.gpus_per_node)) {
    return Fail(*std::move(error));
  }
  AddHost(instance, nodes, 1, &machine);
  ASSIGN_OR_RETURN(machine.fabric, JoinGpus(catalog, &instance.offer, &machine));
  machine.written_as = file.document == nullptr ? std::string(kOwnMachine) : file.document->name;
  return machine;
}

}  // namespace trainfit::catalog
