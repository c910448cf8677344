#include "validate/interconnect.h"

#include <optional>
#include <string>

#include "base/numeral.h"

namespace trainfit::validate {
namespace {

constexpr double kBytesOfGbit = 1e9 / 8;

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number that ends right before `end`, and the spaces before that.
std::optional<double> NumberBefore(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && (IsDigit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return ParseDecimal(text.substr(begin, end - begin));
}

// "200 Gb/s", "1600Gbps", "3.2 Tb/s"; in Gbit/s.
std::optional<double> Rate(std::string_view text) {
  struct Unit {
    std::string_view name;
    double gbit;
  };
  constexpr Unit kUnits[] = {{"Tb/s", 1000}, {"Gb/s", 1}, {"Gbps", 1}};
  for (const Unit& unit : kUnits) {
    const std::size_t at = text.find(unit.name);
    if (at == std::string_view::npos) continue;
    if (const auto number = NumberBefore(text, at)) return *number * unit.gbit;
  }
  return std::nullopt;
}

// The count of "4x IB-HDR", "4x100 Gb/s".
std::optional<std::int64_t> Count(std::string_view text) {
  for (std::size_t at = text.find('x'); at != std::string_view::npos; at = text.find('x', at + 1)) {
    if (at == 0 || !IsDigit(text[at - 1])) continue;
    const auto number = NumberBefore(text, at);
    if (number && *number < 1e6) return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

// A generation by its name; EFA by the machine that has such cards.
std::string NamedLink(std::string_view text, const spec::Gpu& gpu) {
  for (const auto& [word, id] : {std::pair{"EDR", "ib-edr"}, std::pair{"HDR", "ib-hdr"},
                                 std::pair{"NDR", "ib-ndr"}, std::pair{"XDR", "ib-xdr"}}) {
    if (Has(text, word)) return id;
  }
  if (!Has(text, "EFA")) return "";
  if (gpu.architecture == "Ampere") return "efa-v1-p4d";
  return gpu.architecture == "Hopper" ? "efa-v2-p5" : "efa-v4-p6-b200";
}

}  // namespace

void SetNetwork(std::string_view interconnect, const catalog::Catalog& catalog,
                spec::Machine* machine) {
  if (machine->nodes == 1) return;
  const std::size_t plus = interconnect.find('+');
  const std::string_view text =
      plus == std::string_view::npos ? interconnect : interconnect.substr(plus + 1);
  const std::optional<std::int64_t> count = Count(text);
  spec::Fabric& fabric = machine->fabric;
  if (const std::string id = NamedLink(text, machine->gpu); !id.empty()) {
    auto link = catalog.FindLink(id);
    if (!link.has_value()) return;
    fabric.between_nodes = std::move(link->record);
    fabric.ports_per_node = count.value_or(machine->gpus_per_node);
    return;
  }
  const std::optional<double> gbit = Rate(text);
  if (!gbit || Has(text, "..")) return;  // "400 Gb/s .. 3.2 Tb/s (three clusters)"
  spec::Link link;
  link.id = "as published";
  link.name = std::string(text);
  link.kind = Has(text, "IB") ? "infiniband" : "roce";
  link.scope = "between nodes";
  const bool of_node = !count && (Has(text, "node") || !Has(text, "GPU"));
  link.per = of_node ? "node" : "port";
  link.one_way = BytesPerSecond(*gbit * kBytesOfGbit);
  fabric.between_nodes = std::move(link);
  fabric.ports_per_node = of_node ? 1 : count.value_or(machine->gpus_per_node);
}

}  // namespace trainfit::validate
