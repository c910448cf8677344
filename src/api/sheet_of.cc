#include "api/sheet_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "api/list_columns.h"
#include "api/list_rows.h"
#include "api/node_json.h"
#include "base/json_writer.h"
#include "report/numbers.h"

namespace trainfit::api {
namespace {

using catalog::Catalog;
using catalog::Kind;
using config::Node;
using config::NodeKind;
using report::Sheet;
using report::SheetSection;

struct Unit {
  std::string_view suffix;
  std::string_view before;
  std::string_view after;
};
// Longest suffix first where one ends another.
constexpr std::array kUnits = std::to_array<Unit>({
    {"_both_ways_gb_per_s", "", " GB/s both ways"},
    {"_one_way_gb_per_s", "", " GB/s one way"},
    {"_gb_per_s", "", " GB/s"},
    {"_gbit_per_s_per_port", "", " Gbit/s a port"},
    {"_gbit_per_s", "", " Gbit/s"},
    {"_usd_per_hour", "$", "/h"},
    {"_usd", "$", ""},
    {"_tflops", "", " TFLOPS"},
    {"_tops", "", " TOPS"},
    {"_mhz", "", " MHz"},
    {"_mib", "", " MiB"},
    {"_gib", "", " GiB"},
    {"_gb", "", " GB"},
    {"_us", "", " µs"},
    {"_w", "", " W"},
});

Unit UnitOf(std::string_view key) {
  for (const Unit& unit : kUnits) {
    if (key.ends_with(unit.suffix)) return unit;
  }
  // In a list of measurements the unit is the whole key.
  for (const Unit& unit : kUnits) {
    if (key == unit.suffix.substr(1)) return {key, unit.before, unit.after};
  }
  return {"", "", ""};
}

// "bf16_dense_tflops" → "BF16 dense".
std::string Label(std::string_view key) {
  constexpr std::array<std::string_view, 10> kCapitals = {"bf16", "fp16", "fp8",  "fp4", "fp32",
                                                          "tf32", "int8", "pcie", "ram", "rdma"};
  key.remove_suffix(UnitOf(key).suffix.size());
  std::string label;
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('_'), key.size());
    std::string word(key.substr(0, end));
    if (std::find(kCapitals.begin(), kCapitals.end(), word) != kCapitals.end()) {
      for (char& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    label += (label.empty() ? "" : " ") + word;
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return label.empty() ? "rate" : label;
}

std::string Scalar(std::string_view key, const Node& node) {
  const Unit unit = UnitOf(key);
  std::string text;
  if (node.kind == NodeKind::kBool) {
    text = node.boolean ? "yes" : "no";
  } else if (node.IsNumber()) {
    text = report::Grouped(node.text);
  } else {
    text = node.text;
  }
  return std::string(unit.before) + text + std::string(unit.after);
}

// "gb per s 376; what …" of a list's object: the keys of numbers are their units.
std::string Sentence(const Node& object) {
  std::string text;
  for (const config::Member& member : object.members) {
    if (!text.empty()) text += ", ";
    text += Scalar(member.key, member.value);
  }
  return text;
}

bool IsShort(const Node& list) {
  constexpr std::size_t kLongestWord = 40;
  return std::all_of(list.items.begin(), list.items.end(), [](const Node& item) {
    return item.kind != NodeKind::kObject && item.text.size() <= kLongestWord;
  });
}

// Adds one key of a record, to `section` when it is short, as sections of their own otherwise.
void AddFact(const config::Member& member, SheetSection* section,
             std::vector<SheetSection>* others) {
  const Node& value = member.value;
  if (value.kind == NodeKind::kObject) {
    SheetSection own{Label(member.key), {}, {}};
    std::vector<SheetSection> nested;
    for (const config::Member& inner : value.members) AddFact(inner, &own, &nested);
    others->push_back(std::move(own));
    for (SheetSection& inner : nested) others->push_back(std::move(inner));
  } else if (value.kind == NodeKind::kArray && !IsShort(value)) {
    SheetSection own{Label(member.key), {}, {}};
    for (const Node& item : value.items) {
      own.sentences.push_back(item.kind == NodeKind::kObject ? Sentence(item) : item.text);
    }
    others->push_back(std::move(own));
  } else if (value.kind == NodeKind::kArray) {
    std::string text;
    for (const Node& item : value.items) {
      text += (text.empty() ? "" : ", ") + Scalar(member.key, item);
    }
    section->facts.push_back({Label(member.key), text});
  } else {
    section->facts.push_back({Label(member.key), Scalar(member.key, value)});
  }
}

// The keys of the record in the order of its file.
std::vector<SheetSection> RecordSections(const Node& record, std::string_view without) {
  SheetSection top;
  std::vector<SheetSection> others;
  for (const config::Member& member : record.members) {
    if (member.key == "id" || member.key == "name" || member.key == without) continue;
    AddFact(member, &top, &others);
  }
  std::vector<SheetSection> sections;
  if (!top.facts.empty()) {
    top.title = "facts";
    sections.push_back(std::move(top));
  }
  for (SheetSection& section : others) sections.push_back(std::move(section));
  return sections;
}

// What the tables compute: the columns that are no key of the record.
SheetSection ComputedSection(Kind kind, const report::ListRow& row) {
  SheetSection section{"computed", {}, {}};
  const std::span<const ColumnSpec> columns = ColumnsOf(kind);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnSpec& column = columns[i];
    if (*column.path != '\0') continue;
    if (std::holds_alternative<std::monostate>(row.values[i])) continue;
    std::string text =
        report::ListText({column.key, column.title, column.about, column.digits}, row.values[i]);
    if (column.digits >= 0) text += std::string(" ") + column.title;
    if (*column.about != '\0') text += std::string(" (") + column.about + ")";
    std::string label = column.key;
    std::replace(label.begin(), label.end(), '_', ' ');
    section.facts.push_back({std::move(label), std::move(text)});
  }
  return section;
}

Expected<SheetSection> OffersSection(const Catalog& catalog, const std::string& id,
                                     const std::optional<report::Date>& today) {
  SheetSection section{"cheapest offer of each provider, a GPU and hour", {}, {}};
  ASSIGN_OR_RETURN(const auto offers, catalog.CheapestOffers(id));
  for (const catalog::InstanceRecord& record : offers) {
    const spec::Offer& offer = record.offer;
    const std::string price = report::PerHourColumn(*offer.price / static_cast<double>(offer.gpus));
    std::string text = fmt::format("${} read {}", price, offer.price_date);
    if (report::IsStalePrice(offer.price_date, today)) {
      text += fmt::format(", older than {} days", report::kStalePriceDays);
    }
    if (offer.gpus > 1) text += fmt::format("; sold as {} GPUs", offer.gpus);
    section.facts.push_back({offer.id, text});
  }
  return section;
}

std::string RecordJson(Kind kind, const report::ListRow& row, const Node& record,
                       const std::vector<std::string>& assumptions) {
  constexpr std::array<const char*, catalog::kKinds> kSchemas = {
      "trainfit.gpu/1", "trainfit.instance/1", "trainfit.link/1", "trainfit.model/1"};
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", kSchemas[static_cast<std::size_t>(kind)]);
  json.Field("id", record.Find("id")->text);
  json.Key("record");
  WriteNode(record, &json);
  json.Key("computed").BeginObject();
  const std::span<const ColumnSpec> columns = ColumnsOf(kind);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (*columns[i].path != '\0') continue;
    json.Key(columns[i].key);
    report::WriteListValue(row.values[i], &json);
  }
  json.EndObject();
  json.Key("assumptions").BeginArray();
  for (const std::string& assumption : assumptions) json.String(assumption);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace

Expected<Sheet> SheetOf(const Catalog& catalog, Kind kind, const std::string& id,
                        const std::vector<std::string>& assumptions,
                        const std::optional<report::Date>& today) {
  ASSIGN_OR_RETURN(const Node record, catalog.Facts(kind, id));
  ASSIGN_OR_RETURN(const report::ListRow row, RowOf(catalog, kind, id, record, today));
  Sheet sheet;
  const Node* name = record.Find("name");
  sheet.title = name == nullptr ? id : fmt::format("{} ({})", name->text, id);
  if (!assumptions.empty()) sheet.sections.push_back({"assumed", {}, assumptions});
  for (SheetSection& section : RecordSections(record, "")) {
    sheet.sections.push_back(std::move(section));
  }
  // Before sources and notes, which come last in the files and are long.
  const auto lists =
      std::find_if(sheet.sections.begin(), sheet.sections.end(), [](const SheetSection& section) {
        return section.facts.empty() && section.title != "assumed";
      });
  std::vector<SheetSection> computed = {ComputedSection(kind, row)};
  if (kind == Kind::kGpu) {
    ASSIGN_OR_RETURN(SheetSection offers, OffersSection(catalog, id, today));
    computed.push_back(std::move(offers));
  }
  sheet.sections.insert(lists, computed.begin(), computed.end());
  sheet.json = RecordJson(kind, row, record, assumptions);
  return sheet;
}

}  // namespace trainfit::api
