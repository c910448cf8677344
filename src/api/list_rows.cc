#include "api/list_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "api/list_columns.h"
#include "time/card.h"
#include "time/gemm.h"

namespace trainfit::api {
namespace {

using catalog::Catalog;
using catalog::Kind;
using config::Node;
using report::Listing;
using report::ListRow;
using report::ListValue;

// Six digits behind the point: finer than any price, and the same text everywhere.
double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

// What a dollar buys. `price` is of everything that the other numbers are about.
struct Bought {
  std::optional<double> price;      // $/h
  std::optional<double> gib;        // usable
  std::optional<double> tflops;     // dense BF16
  std::optional<double> delivered;  // the same, of large products
  std::optional<double> bandwidth;  // GB/s
};

void SetRatios(const Bought& bought, RowBuilder* row) {
  if (!bought.price || *bought.price <= 0) return;
  const double price = *bought.price;
  if (bought.gib && *bought.gib > 0) row->Set("price_per_gib", Rounded(price / *bought.gib));
  if (bought.tflops && *bought.tflops > 0) {
    row->Set("price_per_pflop_hour", Rounded(price / (*bought.tflops / 1000)));
  }
  if (bought.delivered && *bought.delivered > 0) {
    row->Set("price_per_delivered_pflop_hour", Rounded(price / (*bought.delivered / 1000)));
  }
  if (bought.bandwidth) row->Set("bandwidth_per_dollar", Rounded(*bought.bandwidth / price));
}

std::optional<double> NumberAt(const Node& record, std::string_view path) {
  const Node* node = At(record, path);
  return node != nullptr && node->IsNumber() ? std::optional(node->real) : std::nullopt;
}

// TFLOPS of a bf16 product of 8192 in every dimension: as large as those of training, and past what
// waves of tiles cost. Unset for a card whose rates are not known.
std::optional<double> DeliveredTflops(const spec::Gpu& gpu) {
  if (!gpu.bf16 || !gpu.memory_bandwidth) return std::nullopt;
  constexpr std::int64_t kSize = 8192;
  const time::RoofTime roof =
      time::GemmTime({.m = kSize, .n = kSize, .k = kSize}, time::MakeCard(gpu));
  const double seconds = std::max(roof.compute, roof.memory);
  if (seconds <= 0) return std::nullopt;
  return 2.0 * kSize * kSize * kSize / seconds / 1e12;
}

void SetAge(std::string_view date, const std::optional<report::Date>& today, RowBuilder* row) {
  if (!today) return;
  const bool is_old = report::IsStalePrice(date, today);
  row->Set("price_is_old", is_old);
  if (is_old) row->MarkOld();
}

std::optional<double> Times(std::int64_t count, std::optional<double> value) {
  return value ? std::optional(*value * static_cast<double>(count)) : std::nullopt;
}

Diagnostics FillGpu(const Catalog& catalog, const std::string& id, const Node& record,
                    const std::optional<report::Date>& today, RowBuilder* row) {
  const auto gpu = catalog::ReadGpu(record);
  if (!gpu) return gpu.error();
  // The record's figures are the card's, the reader's those of one of its devices.
  const double gib = InGiB(gpu->gpu.memory_usable) * static_cast<double>(gpu->devices_per_card);
  row->Set("usable", Rounded(gib));
  const auto offers = catalog.OffersOf(id);
  if (!offers) return offers.error();
  if (offers->empty() || !offers->front().offer.price) return {};
  const spec::Offer& offer = offers->front().offer;
  const auto facts = catalog.Facts(Kind::kInstance, offer.id);
  if (!facts) return facts.error();
  const std::optional<double> price = NumberAt(*facts, "price.on_demand_usd_per_hour");
  if (!price) return {};
  const double each = Rounded(*price / static_cast<double>(offer.gpus));
  row->Set("price", each);
  row->Set("offer", offer.id);
  row->Set("price_date", offer.price_date);
  SetAge(offer.price_date, today, row);
  SetRatios({each, gib, NumberAt(record, "peak.bf16_dense_tflops"),
             Times(gpu->devices_per_card, DeliveredTflops(gpu->gpu)),
             NumberAt(record, "memory.bandwidth_gb_per_s")},
            row);
  return {};
}

Diagnostics FillInstance(const Catalog& catalog, const Node& record,
                         const std::optional<report::Date>& today, RowBuilder* row) {
  const auto instance = catalog::ReadInstance(record);
  if (!instance) return instance.error();
  const auto gpu = catalog.FindGpu(instance->offer.gpu_id);
  if (!gpu) return gpu.error();
  const auto card = catalog.Facts(Kind::kGpu, instance->offer.gpu_id);
  if (!card) return card.error();
  const std::int64_t count = instance->offer.gpus;
  const double gib = InGiB(gpu->record.gpu.memory_usable) *
                     static_cast<double>(gpu->record.devices_per_card * count);
  row->Set("usable", Rounded(gib));
  row->Set("sold_per_gpu", instance->sold_per_gpu);
  if (instance->offer.host_memory) {
    row->Set("host_memory", Rounded(InGiB(*instance->offer.host_memory)));
  }
  if (const Node* region = record.Find("region")) row->Set("region", ValueOf(region));
  const std::optional<double> price = row->Number("price");
  if (!price) return {};
  row->Set("price_per_gpu", Rounded(*price / static_cast<double>(count)));
  SetAge(instance->offer.price_date, today, row);
  SetRatios(
      {price, gib, Times(count, NumberAt(*card, "peak.bf16_dense_tflops")),
       Times(instance->offer.gpus * gpu->record.devices_per_card, DeliveredTflops(gpu->record.gpu)),
       Times(count, NumberAt(*card, "memory.bandwidth_gb_per_s"))},
      row);
  return {};
}

void FillModel(const Node& record, RowBuilder* row) {
  const Node* active = record.Find("active_params");
  row->Set("active_params", ValueOf(active != nullptr ? active : record.Find("params")));
}

// Texts and lists of texts under these keys, one a line.
std::string WordsOf(const Node& record) {
  constexpr std::array kPaths = {
      "id",       "name",  "aliases", "device_names",      "same_shapes", "vendor",
      "provider", "tier",  "gpu",     "architecture",      "form",        "memory.kind",
      "kind",     "scope", "license", "config.model_type", "price.region"};
  std::string words;
  for (const char* path : kPaths) {
    const Node* node = At(record, path);
    if (node == nullptr) continue;
    words += node->text + "\n";
    for (const Node& item : node->items) words += item.text + "\n";
  }
  return words;
}

Listing EmptyListing(Kind kind) {
  Listing listing;
  switch (kind) {
    case Kind::kGpu:
      listing.schema = "trainfit.gpus/1";
      listing.things = "GPUs";
      break;
    case Kind::kInstance:
      listing.schema = "trainfit.instances/1";
      listing.things = "machines";
      break;
    case Kind::kLink:
      listing.schema = "trainfit.links/1";
      listing.things = "links";
      break;
    case Kind::kModel:
      listing.schema = "trainfit.models/1";
      listing.things = "models";
      break;
  }
  for (const ColumnSpec& column : ColumnsOf(kind)) {
    if (column.is_usual) listing.shown.push_back(listing.columns.size());
    listing.columns.push_back(
        {column.key, column.title, column.about, column.digits, column.is_price});
  }
  return listing;
}

}  // namespace

Expected<ListRow> RowOf(const Catalog& catalog, Kind kind, const std::string& id,
                        const Node& record, const std::optional<report::Date>& today) {
  RowBuilder row(kind, record);
  Diagnostics errors;
  if (kind == Kind::kGpu) errors = FillGpu(catalog, id, record, today, &row);
  if (kind == Kind::kInstance) errors = FillInstance(catalog, record, today, &row);
  if (kind == Kind::kModel) FillModel(record, &row);
  if (!errors.empty()) return Fail(std::move(errors));
  return row.Take();
}

Expected<AllRows> RowsOf(const Catalog& catalog, Kind kind,
                         const std::optional<report::Date>& today) {
  AllRows all;
  all.listing = EmptyListing(kind);
  for (const std::string& id : catalog.Ids(kind)) {
    ASSIGN_OR_RETURN(const Node record, catalog.Facts(kind, id));
    ASSIGN_OR_RETURN(ListRow row, RowOf(catalog, kind, id, record, today));
    all.listing.rows.push_back(std::move(row));
    all.words.push_back(WordsOf(record));
  }
  all.listing.known = all.listing.rows.size();
  return all;
}

}  // namespace trainfit::api
