#include "catalog/price_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/numeral.h"
#include "base/text.h"
#include "catalog/csv.h"

namespace trainfit::catalog {
namespace {

using config::Node;

// The columns of the two forms, by what they hold.
struct Form {
  const char* title;
  const char* machine;
  const char* gpu;
  const char* gpus;
  const char* cpus;
  const char* memory;
  const char* memory_key;  // of the catalogue: GiB, or a unit that is not sure
  const char* price;
  const char* region;
  const char* gpu_memory;  // "" or a column
  const char* spot;        // a price, or whether `price` is one
  bool spot_is_price;
};
constexpr Form kGpuhunt{"gpuhunt catalogue",
                        "instance_name",
                        "gpu_name",
                        "gpu_count",
                        "cpu",
                        "memory",
                        "ram_gb",
                        "price",
                        "location",
                        "gpu_memory",
                        "spot",
                        false};
constexpr Form kSkyPilot{"SkyPilot catalogue",
                         "InstanceType",
                         "AcceleratorName",
                         "AcceleratorCount",
                         "vCPUs",
                         "MemoryGiB",
                         "ram_gib",
                         "Price",
                         "Region",
                         "",
                         "SpotPrice",
                         true};

struct Machine {
  std::string provider;
  std::string name;
  std::string gpu;                     // id
  std::vector<std::string> gpu_meant;  // ids that the list's name may mean
  std::int64_t gpus = 1;
  std::optional<double> cpus;
  std::optional<double> memory;
  std::optional<double> price;
  std::string region;  // of `price`
  std::optional<double> spot_price;
  std::int64_t regions = 0;
  std::vector<std::string> notes;
};

class Importer {
 public:
  Importer(const Catalog& catalog, const std::string& name, std::string_view text,
           const PriceListOrigin& origin)
      : catalog_(catalog), name_(name), text_(text), origin_(origin) {}

  Expected<ImportedPrices> Import() {
    ASSIGN_OR_RETURN(csv_, ParseCsv(name_, text_));
    ASSIGN_OR_RETURN(form_, ChooseForm());
    for (const CsvRow& row : csv_.rows) {
      ++result_.rows;
      if (Diagnostics errors = Take(row); !errors.empty()) return Fail(std::move(errors));
    }
    result_.machines = static_cast<std::int64_t>(machines_.size());
    result_.json = Json();
    return std::move(result_);
  }

 private:
  Expected<const Form*> ChooseForm() const {
    for (const Form* form : {&kGpuhunt, &kSkyPilot}) {
      if (csv_.Find(form->machine) >= 0 && csv_.Find(form->gpu) >= 0 &&
          csv_.Find(form->gpus) >= 0 && csv_.Find(form->price) >= 0) {
        return form;
      }
    }
    Diagnostic error = ErrorAt(SpanInText(name_, text_, 0, 0), "unknown-price-list",
                               "this is neither a gpuhunt nor a SkyPilot catalogue");
    error.notes.push_back("gpuhunt: instance_name,location,price,cpu,memory,gpu_count,gpu_name,…");
    error.notes.push_back("SkyPilot: InstanceType,AcceleratorName,AcceleratorCount,vCPUs,…");
    return Fail(std::move(error));
  }

  std::string_view Text(const CsvRow& row, std::string_view column) const {
    const int place = column.empty() ? -1 : csv_.Find(column);
    return place < 0 ? std::string_view() : std::string_view(row.fields[place]);
  }

  // Unset when the field is empty. False when it is no number, or none that a machine can have.
  bool Number(const CsvRow& row, std::string_view column, std::optional<double>* value,
              Diagnostics* errors) const {
    const std::string_view text = Text(row, column);
    if (text.empty()) return true;
    const std::optional<double> number = ParseDecimal(text);
    if (number && *number >= 0 && *number <= kMost) {
      *value = number;
      return true;
    }
    SourceSpan span;
    span.file = name_;
    span.line = row.line;
    errors->push_back(ErrorAt(std::move(span), "not-a-number",
                              fmt::format("{}: {} is not a number{}", column, Quoted(text),
                                          number && *number > kMost ? " of a machine" : "")));
    return false;
  }

  void Skip(std::string why) { ++result_.skipped[std::move(why)]; }

  // GiB of one GPU, from gpuhunt's column, or from {'SizeInMiB': 16384} of SkyPilot's GpuInfo.
  std::string GpuMemory(const CsvRow& row) const {
    if (*form_->gpu_memory != '\0') return std::string(Text(row, form_->gpu_memory));
    constexpr std::string_view kKey = "'SizeInMiB': ";
    const std::string_view info = Text(row, "GpuInfo");
    const std::size_t at = info.find(kKey);
    if (at == std::string_view::npos) return "";
    std::int64_t mib = 0;
    std::from_chars(info.data() + at + kKey.size(), info.data() + info.size(), mib);
    return mib <= 0 ? "" : fmt::format("{}", (mib + 512) / 1024);
  }

  // "A100" with 80 GB is an A100-80; a size that the name has already, or that is of all GPUs
  // together, does no harm: then the name alone decides.
  bool FindGpu(const CsvRow& row, Machine* machine) {
    const std::string name(Text(row, form_->gpu));
    std::string size = GpuMemory(row);
    size = size.substr(0, size.find('.'));
    const std::string key = name + "|" + size;
    auto known = gpus_.find(key);
    if (known == gpus_.end()) {
      Expected<Match<GpuRecord>> match = catalog_.FindGpu(name + "-" + size);
      if (size.empty() || !match) match = catalog_.FindGpu(name);
      known = gpus_.emplace(key, FoundGpu{}).first;
      if (match) {
        known->second = {match->record.gpu.id, catalog_.Meant(Kind::kGpu, name),
                         match->assumptions};
      }
    }
    machine->gpu = known->second.id;
    machine->gpu_meant = known->second.meant;
    machine->notes = known->second.notes;
    return !machine->gpu.empty();
  }

  Diagnostics Take(const CsvRow& row) {
    Diagnostics errors;
    std::optional<double> price;
    std::optional<double> spot;
    std::optional<double> gpus;
    Machine machine;
    Number(row, form_->price, &price, &errors);
    Number(row, form_->gpus, &gpus, &errors);
    Number(row, form_->cpus, &machine.cpus, &errors);
    Number(row, form_->memory, &machine.memory, &errors);
    if (form_->spot_is_price) {
      Number(row, form_->spot, &spot, &errors);
    } else if (const std::string_view word = Text(row, form_->spot);
               word == "True" || word == "true") {
      std::swap(price, spot);
    }
    if (!errors.empty()) return errors;
    machine.name = Text(row, form_->machine);
    if (Text(row, form_->gpu).empty() || !gpus || *gpus < 1) {
      Skip("no GPU");
    } else if (machine.name.empty()) {
      Skip("a GPU without its machine (Google Cloud prices them apart)");
    } else if (price.value_or(0) < kLeastPrice && spot.value_or(0) < kLeastPrice) {
      Skip("no price");
    } else if (FindGpu(row, &machine)) {
      machine.gpus = static_cast<std::int64_t>(*gpus);
      machine.provider = Text(row, "provider");
      if (machine.provider.empty()) machine.provider = origin_.provider;
      Merge(std::move(machine), price, spot, std::string(Text(row, form_->region)));
    } else {
      Skip(fmt::format("unknown GPU {}", Printable(Text(row, form_->gpu))));
    }
    return errors;
  }

  void Merge(Machine row, std::optional<double> price, std::optional<double> spot,
             std::string region) {
    const auto [place, is_new] = machines_.try_emplace(row.provider + "-" + row.name, row);
    Machine& machine = place->second;
    ++machine.regions;
    if (price.value_or(0) >= kLeastPrice && (!machine.price || *price < *machine.price)) {
      machine.price = price;
      machine.region = std::move(region);
    }
    if (spot.value_or(0) >= kLeastPrice && (!machine.spot_price || *spot < *machine.spot_price)) {
      machine.spot_price = spot;
    }
  }

  // The machine of the catalogue that this one is, if its GPUs are the same.
  std::optional<Node> Known(const std::string& id, const Machine& machine) const {
    for (const std::string& name : {id, machine.name}) {
      const std::vector<std::string> meant = catalog_.Meant(Kind::kInstance, name);
      if (meant.size() != 1) continue;
      Expected<Node> facts = catalog_.Facts(Kind::kInstance, meant[0]);
      if (!facts || facts->Find("gpu_count")->integer != machine.gpus) continue;
      // What the list calls A100 may be the PCIe card, which the catalogue knows of this machine.
      const std::string& gpu = facts->Find("gpu")->text;
      const std::vector<std::string>& gpus = machine.gpu_meant;
      const bool is_it =
          gpu == machine.gpu || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
      if (is_it) return *std::move(facts);
    }
    return std::nullopt;
  }

  void WritePrice(const Machine& machine, JsonWriter* json) const {
    json->Key("price").BeginObject();
    if (machine.price) json->Field("on_demand_usd_per_hour", *machine.price);
    if (machine.spot_price) json->Field("spot_usd_per_hour", *machine.spot_price);
    json->Field("date", origin_.date);
    if (!machine.region.empty()) json->Field("region", machine.region);
    json->EndObject();
  }

  void WriteNew(const std::string& id, const Machine& machine, JsonWriter* json) const {
    json->Field("id", id);
    json->Field("provider", machine.provider);
    json->Field("kind", "cloud");
    json->Field("tier", "on-demand");
    json->Field("gpu", machine.gpu);
    json->Field("gpu_count", machine.gpus);
    json->Key("host").BeginObject();
    if (machine.cpus && *machine.cpus >= 1) {
      json->Field("vcpus", static_cast<std::int64_t>(*machine.cpus));
    }
    if (machine.memory && *machine.memory >= 1) json->Field(form_->memory_key, *machine.memory);
    json->EndObject();
  }

  void WriteScalar(const Node& node, JsonWriter* json) const {
    if (node.kind == config::NodeKind::kObject) {
      json->BeginObject();
      for (const config::Member& member : node.members) {
        json->Key(member.key);
        WriteScalar(member.value, json);
      }
      json->EndObject();
    } else if (node.kind == config::NodeKind::kArray) {
      json->BeginArray();
      for (const Node& item : node.items) WriteScalar(item, json);
      json->EndArray();
    } else if (node.kind == config::NodeKind::kInt) {
      json->Int(node.integer);
    } else if (node.kind == config::NodeKind::kDouble) {
      json->Double(node.real);
    } else if (node.kind == config::NodeKind::kBool) {
      json->Bool(node.boolean);
    } else {
      json->String(node.text);
    }
  }

  std::string Json() const {
    JsonWriter json;
    json.BeginObject();
    json.Key("instances").BeginArray();
    for (const auto& [id, machine] : machines_) {
      json.BeginObject();
      const std::optional<Node> known = Known(id, machine);
      if (known) {
        for (const config::Member& member : known->members) {
          const std::string& key = member.key;
          if (key == "price" || key == "as_of" || key == "source" || key == "notes") continue;
          json.Key(key);
          WriteScalar(member.value, &json);
        }
      } else {
        WriteNew(id, machine, &json);
      }
      WritePrice(machine, &json);
      json.Field("as_of", origin_.date);
      json.Field("source", fmt::format("{}: {}", form_->title, name_));
      json.Key("notes").BeginArray();
      if (machine.regions > 1) {
        json.String(fmt::format("the least of {} prices", machine.regions));
      }
      if (!known) {
        for (const std::string& note : machine.notes) json.String(note);
      }
      json.EndArray();
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    return json.Take();
  }

  // The least that the catalogue takes; lists have zeros where a price is not known.
  static constexpr double kLeastPrice = 0.01;
  // Above every price, memory in GiB and number of processors of a machine.
  static constexpr double kMost = 1e9;

  struct FoundGpu {
    std::string id;
    std::vector<std::string> meant;
    std::vector<std::string> notes;
  };

  const Catalog& catalog_;
  const std::string& name_;
  std::string_view text_;
  const PriceListOrigin& origin_;
  Csv csv_;
  const Form* form_ = nullptr;
  std::map<std::string, Machine> machines_;  // by id
  std::map<std::string, FoundGpu> gpus_;
  ImportedPrices result_;
};

}  // namespace

Expected<ImportedPrices> ImportPriceList(const Catalog& catalog, const std::string& name,
                                         std::string_view text, const PriceListOrigin& origin) {
  return Importer(catalog, name, text, origin).Import();
}

}  // namespace trainfit::catalog
