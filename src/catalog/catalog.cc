#include "catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "catalog/packed.h"
#include "config/json_reader.h"

namespace trainfit::catalog {
namespace {

using config::Node;

template <typename Record>
constexpr Kind kKindOf = Kind::kModel;
template <>
constexpr Kind kKindOf<GpuRecord> = Kind::kGpu;
template <>
constexpr Kind kKindOf<InstanceRecord> = Kind::kInstance;
template <>
constexpr Kind kKindOf<spec::Link> = Kind::kLink;

template <typename Record>
Expected<Record> ReadRecord(const Node& node) {
  if constexpr (kKindOf<Record> == Kind::kGpu) {
    return ReadGpu(node);
  } else if constexpr (kKindOf<Record> == Kind::kInstance) {
    return ReadInstance(node);
  } else {
    return ReadLink(node);
  }
}

// The folder of data/ and the key of a user's file.
std::string_view Folder(Kind kind) {
  switch (kind) {
    case Kind::kGpu:
      return "gpus";
    case Kind::kInstance:
      return "instances";
    case Kind::kLink:
      return "links";
    case Kind::kModel:
      return "models";
  }
  return "";
}

std::size_t Index(Kind kind) { return static_cast<std::size_t>(kind); }

std::string Joined(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    text += words[i];
  }
  return text;
}

// Sizes differ by what print, driver and allocator leave out: 24, 23.65 and 22 GB are one card.
bool IsAbout(double size, double other) { return std::abs(size - other) <= 0.085 * other; }

// The address of a model's page: "https://HUB/Qwen/Qwen2.5-7B/tree/main" → "Qwen/Qwen2.5-7B".
std::string_view WithoutAddress(std::string_view name) {
  constexpr std::string_view kScheme = "://";
  const std::size_t scheme = name.find(kScheme);
  if (scheme == std::string_view::npos) return name;
  const std::size_t host_end = name.find('/', scheme + kScheme.size());
  if (host_end == std::string_view::npos) return name;
  name.remove_prefix(host_end + 1);
  const std::size_t slash = name.find('/');
  const std::size_t end = slash == std::string_view::npos ? slash : name.find('/', slash + 1);
  return name.substr(0, end);
}

double PricePerGpu(const InstanceRecord& record) {
  if (!record.offer.price) return std::numeric_limits<double>::infinity();
  return record.offer.price->value() / static_cast<double>(record.offer.gpus);
}

}  // namespace

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kGpu:
      return "GPU";
    case Kind::kInstance:
      return "machine";
    case Kind::kLink:
      return "link";
    case Kind::kModel:
      return "model";
  }
  return "";
}

std::optional<Catalog::Ref> Catalog::FindId(Kind kind, std::string_view id) const {
  for (const Added& added : added_[Index(kind)]) {
    if (added.id == id) return Ref{&added, 0};
  }
  const EmbeddedData& data = Embedded();
  const auto records = data.Of(kind).records;
  const auto found = std::lower_bound(records.begin(), records.end(), id,
                                      [&](const EmbeddedRecord& record, std::string_view key) {
                                        return data.Text(record.id) < key;
                                      });
  if (found == records.end() || data.Text(found->id) != id) return std::nullopt;
  return Ref{nullptr, static_cast<std::size_t>(found - records.begin())};
}

std::string Catalog::Id(Kind kind, const Ref& ref) const {
  if (ref.added != nullptr) return ref.added->id;
  return std::string(Embedded().Text(Embedded().Of(kind).records[ref.place].id));
}

Expected<Node> Catalog::Tree(Kind kind, const Ref& ref) const {
  if (ref.added != nullptr) return ref.added->node;
  const EmbeddedData& data = Embedded();
  const EmbeddedRecord& record = data.Of(kind).records[ref.place];
  return config::ParseJson(fmt::format("data/{}/{}", Folder(kind), data.Text(record.id)),
                           std::string(data.Text(record.json)));
}

spec::KernelRates RatesOf(std::string_view compute_capability) {
  const EmbeddedData& data = Embedded();
  for (const EmbeddedRates& rates : data.rates) {
    if (data.Text(rates.capability) == compute_capability) {
      return Unpack<spec::KernelRates>(data.Text(rates.packed));
    }
  }
  return {};
}

template <>
Expected<GpuRecord> Catalog::Read(const Ref& ref) const {
  GpuRecord record;
  if (ref.added != nullptr) {
    ASSIGN_OR_RETURN(record, ReadGpu(ref.added->node));
  } else {
    const EmbeddedData& data = Embedded();
    record = Unpack<GpuRecord>(data.Text(data.Of(Kind::kGpu).records[ref.place].packed));
  }
  record.gpu.rates =
      std::make_shared<const spec::KernelRates>(RatesOf(record.gpu.compute_capability));
  return record;
}

template <typename Record>
Expected<Record> Catalog::Read(const Ref& ref) const {
  if (ref.added != nullptr) return ReadRecord<Record>(ref.added->node);
  const EmbeddedData& data = Embedded();
  return Unpack<Record>(data.Text(data.Of(kKindOf<Record>).records[ref.place].packed));
}

// A model holds its configuration as a tree, so that it is always parsed.
template <>
Expected<ModelRecord> Catalog::Read(const Ref& ref) const {
  ASSIGN_OR_RETURN(const Node node, Tree(Kind::kModel, ref));
  return ReadModel(node);
}

template <typename Record>
Expected<std::vector<Record>> Catalog::ReadAll() const {
  std::vector<Record> records;
  for (const Ref& ref : All(kKindOf<Record>)) {
    ASSIGN_OR_RETURN(Record record, Read<Record>(ref));
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<Catalog::Ref> Catalog::All(Kind kind) const {
  const std::vector<Added>& added = added_[Index(kind)];
  std::vector<Ref> refs;
  for (std::size_t i = 0; i < Embedded().Of(kind).records.size(); ++i) {
    const Ref built_in{nullptr, i};
    if (added.empty() || FindId(kind, Id(kind, built_in))->added == nullptr) {
      refs.push_back(built_in);
    }
  }
  if (added.empty()) return refs;  // they are in order
  for (const Added& own : added) refs.push_back({&own, 0});
  std::sort(refs.begin(), refs.end(),
            [&](const Ref& a, const Ref& b) { return Id(kind, a) < Id(kind, b); });
  return refs;
}

Catalog::Lookup Catalog::Find(Kind kind, const std::string& normalized, bool prefer_shared) const {
  Lookup found;
  if (normalized.empty()) return found;
  for (const Added& added : added_[Index(kind)]) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), normalized) != names.end();
    };
    if (!has(added.names) && !has(added.other_names)) continue;
    found.refs = {Ref{&added, 0}};
    found.is_other = !has(added.names);
    if (added.names[0] == normalized) return found;
  }
  if (!found.refs.empty()) return found;

  const EmbeddedData& data = Embedded();
  // What a user's record of the same id replaces is gone.
  const auto current = [&](std::size_t place) { return *FindId(kind, Id(kind, {nullptr, place})); };
  const auto names = data.Of(kind).names;
  auto row = std::lower_bound(
      names.begin(), names.end(), normalized,
      [&](const EmbeddedName& name, const std::string& key) { return data.Text(name.name) < key; });
  for (; row != names.end() && data.Text(row->name) == normalized; ++row) {
    if (row->is_id && !prefer_shared) return {{current(row->record)}, std::nullopt, "", false};
    found.refs.push_back(current(row->record));
    found.is_other = row->is_other;
  }

  const auto shared = data.Of(kind).shared;
  const auto entry = std::lower_bound(shared.begin(), shared.end(), normalized,
                                      [&](const EmbeddedSharedName& name, const std::string& key) {
                                        return data.Text(name.name) < key;
                                      });
  if (entry == shared.end() || data.Text(entry->name) != normalized) return found;
  found.refs.clear();
  for (const std::uint16_t place : data.meant.subspan(entry->first_meant, entry->meant_count)) {
    found.refs.push_back(current(place));
  }
  if (entry->assumed != kNoRecord) {
    found.assumed = current(entry->assumed);
    found.why = data.Text(entry->why);
  }
  return found;
}

bool Catalog::Knows(Kind kind, std::string_view name) const {
  return !Find(kind, NormalizeName(kind, name)).refs.empty();
}

std::vector<std::string> Catalog::Meant(Kind kind, std::string_view name) const {
  if (kind == Kind::kModel) name = WithoutAddress(name);
  Lookup found = Find(kind, NormalizeName(kind, name));
  if (found.refs.empty() && kind == Kind::kGpu) {
    if (Expected<Lookup> sized = FindSizedGpu(name)) found = *std::move(sized);
  }
  std::vector<std::string> ids;
  ids.reserve(found.refs.size());
  for (const Ref& ref : found.refs) ids.push_back(Id(kind, ref));
  return ids;
}

std::vector<std::string> Catalog::Near(Kind kind, std::string_view name) const {
  constexpr int kMost = 3;
  const EmbeddedData& data = Embedded();
  std::vector<std::string> known;
  for (const Added& added : added_[Index(kind)]) {
    known.insert(known.end(), added.names.begin(), added.names.end());
  }
  for (const EmbeddedName& row : data.Of(kind).names) known.emplace_back(data.Text(row.name));
  std::map<std::string, std::string_view> shown;
  for (const EmbeddedSharedName& row : data.Of(kind).shared) {
    known.emplace_back(data.Text(row.name));
    shown[known.back()] = data.Text(row.shown);
  }
  std::vector<std::string> near;
  // Several names may lead to one id, so that more of them are asked for.
  for (const std::string& word : NearestWords(NormalizeName(kind, name), known, 4 * kMost)) {
    const Lookup found = Find(kind, word);
    const std::string id =
        found.refs.size() == 1 ? Id(kind, found.refs[0]) : std::string(shown[word]);
    if (std::find(near.begin(), near.end(), id) == near.end()) near.push_back(id);
    if (near.size() == kMost) break;
  }
  return near;
}

Expected<Catalog::Ref> Catalog::Choose(Kind kind, std::string_view name, const Lookup& found,
                                       std::vector<std::string>* assumptions) const {
  if (found.refs.empty()) {
    return Fail(Error(fmt::format("unknown-{}", Name(kind) == "GPU" ? "gpu" : Name(kind)),
                      fmt::format("no {} is called {}", Name(kind), Quoted(name)),
                      Joined(Near(kind, name), "or")));
  }
  if (found.refs.size() == 1) {
    if (found.is_other) {
      assumptions->push_back(
          fmt::format("{} has the tensor shapes of {}", Printable(name), Id(kind, found.refs[0])));
    } else if (found.assumed) {
      assumptions->push_back(
          fmt::format("{} taken as {} ({})", Quoted(name), Id(kind, found.refs[0]), found.why));
    }
    return found.refs[0];
  }
  std::vector<std::string> others;
  const bool can_assume = found.assumed && std::find(found.refs.begin(), found.refs.end(),
                                                     *found.assumed) != found.refs.end();
  for (const Ref& ref : found.refs) {
    if (!can_assume || ref != *found.assumed) others.push_back(Id(kind, ref));
  }
  if (can_assume) {
    assumptions->push_back(
        fmt::format("{} taken as {} ({}); {} {}", Quoted(name), Id(kind, *found.assumed), found.why,
                    others.size() == 1 ? "the other is" : "others are", Joined(others, "and")));
    return *found.assumed;
  }
  return Fail(Error(fmt::format("ambiguous-{}", Name(kind) == "GPU" ? "gpu" : Name(kind)),
                    fmt::format("{} fits several {}s", Quoted(name), Name(kind)),
                    Joined(others, "or")));
}

// Of the found cards, those with about this much memory.
Expected<Catalog::Lookup> Catalog::KeepSize(Lookup found, double gb) const {
  std::vector<Ref> kept;
  for (const Ref& ref : found.refs) {
    ASSIGN_OR_RETURN(const GpuRecord record, Read<GpuRecord>(ref));
    const auto fits = [&](double printed) { return IsAbout(gb, printed); };
    if (std::any_of(record.printed_gb.begin(), record.printed_gb.end(), fits)) kept.push_back(ref);
  }
  found.refs = std::move(kept);
  return found;
}

// A GPU name with a memory size in it that is no part of a known name.
Expected<Catalog::Lookup> Catalog::FindSizedGpu(std::string_view name) const {
  for (const SizedName& sized : TakeSize(name)) {
    Lookup found = Find(Kind::kGpu, sized.name, /*prefer_shared=*/true);
    if (found.refs.empty()) continue;
    const std::vector<Ref> before = found.refs;
    ASSIGN_OR_RETURN(found, KeepSize(std::move(found), static_cast<double>(sized.gb)));
    if (!found.refs.empty()) return found;
    std::vector<std::string> sizes;
    for (const Ref& ref : before) {
      ASSIGN_OR_RETURN(const GpuRecord record, Read<GpuRecord>(ref));
      sizes.push_back(fmt::format("{} ({} GB)", record.gpu.id, record.printed_gb[0]));
    }
    return Fail(Error("wrong-memory-size",
                      fmt::format("{}: no such GPU with {} GB is known", Quoted(name), sized.gb),
                      Joined(sizes, "or")));
  }
  return Lookup{};
}

// Keeps the cards whose memory a driver may report so; all of them if that fits none.
void Catalog::KeepReported(Bytes reported, Lookup* found) const {
  const Expected<Lookup> kept = KeepSize(*found, InGiB(reported));
  if (kept && !kept->refs.empty()) *found = *kept;
}

Expected<Match<GpuRecord>> Catalog::FindGpu(std::string_view name,
                                            std::optional<Bytes> reported_memory) const {
  Lookup found = Find(Kind::kGpu, NormalizeName(Kind::kGpu, name), reported_memory.has_value());
  if (found.refs.empty()) {
    ASSIGN_OR_RETURN(found, FindSizedGpu(name));
  }
  if (reported_memory) KeepReported(*reported_memory, &found);
  Match<GpuRecord> match;
  ASSIGN_OR_RETURN(const Ref ref, Choose(Kind::kGpu, name, found, &match.assumptions));
  ASSIGN_OR_RETURN(match.record, Read<GpuRecord>(ref));
  if (match.record.usable_by_rule) {
    match.assumptions.push_back(
        fmt::format("{}: {:.1f} GiB of the printed {} can be allocated", match.record.gpu.id,
                    InGiB(match.record.gpu.memory_usable), match.record.gpu.memory_printed));
  }
  return match;
}

Expected<Match<InstanceRecord>> Catalog::FindInstance(std::string_view name) const {
  Match<InstanceRecord> match;
  const Lookup found = Find(Kind::kInstance, NormalizeName(Kind::kInstance, name));
  ASSIGN_OR_RETURN(const Ref ref, Choose(Kind::kInstance, name, found, &match.assumptions));
  ASSIGN_OR_RETURN(match.record, Read<InstanceRecord>(ref));
  return match;
}

Expected<Match<spec::Link>> Catalog::FindLink(std::string_view name) const {
  Match<spec::Link> match;
  const Lookup found = Find(Kind::kLink, NormalizeName(Kind::kLink, name));
  ASSIGN_OR_RETURN(const Ref ref, Choose(Kind::kLink, name, found, &match.assumptions));
  ASSIGN_OR_RETURN(match.record, Read<spec::Link>(ref));
  return match;
}

Expected<Match<ModelRecord>> Catalog::FindModel(std::string_view name) const {
  name = WithoutAddress(name);
  Match<ModelRecord> match;
  const Lookup found = Find(Kind::kModel, NormalizeName(Kind::kModel, name));
  ASSIGN_OR_RETURN(const Ref ref, Choose(Kind::kModel, name, found, &match.assumptions));
  ASSIGN_OR_RETURN(match.record, Read<ModelRecord>(ref));
  match.is_same_shape = found.is_other && found.refs.size() == 1;
  return match;
}

std::vector<std::string> Catalog::Ids(Kind kind) const {
  std::vector<std::string> ids;
  for (const Ref& ref : All(kind)) ids.push_back(Id(kind, ref));
  return ids;
}

Expected<std::vector<GpuRecord>> Catalog::ListGpus() const { return ReadAll<GpuRecord>(); }

Expected<std::vector<InstanceRecord>> Catalog::ListInstances() const {
  return ReadAll<InstanceRecord>();
}

Expected<std::vector<InstanceRecord>> Catalog::OffersOf(std::string_view gpu_id) const {
  const std::optional<Ref> gpu = FindId(Kind::kGpu, gpu_id);
  std::vector<InstanceRecord> offers;
  for (const Ref& ref : All(Kind::kInstance)) {
    // A built-in machine knows its GPU's place, so that the others need not be unpacked.
    if (ref.added == nullptr) {
      const std::uint16_t place = Embedded().Of(Kind::kInstance).records[ref.place].gpu;
      if (Embedded().Text(Embedded().Of(Kind::kGpu).records[place].id) != gpu_id) continue;
    }
    ASSIGN_OR_RETURN(InstanceRecord record, Read<InstanceRecord>(ref));
    if (record.offer.gpu_id == gpu_id) offers.push_back(std::move(record));
  }
  if (!gpu && offers.empty()) {
    return Fail(Error("unknown-gpu", fmt::format("no GPU has the id {}", Quoted(gpu_id)),
                      Joined(Near(Kind::kGpu, gpu_id), "or")));
  }
  std::sort(offers.begin(), offers.end(), [](const InstanceRecord& a, const InstanceRecord& b) {
    return std::make_pair(PricePerGpu(a), a.offer.id) < std::make_pair(PricePerGpu(b), b.offer.id);
  });
  return offers;
}

Expected<std::vector<InstanceRecord>> Catalog::CheapestOffers(std::string_view gpu_id) const {
  ASSIGN_OR_RETURN(std::vector<InstanceRecord> offers, OffersOf(gpu_id));
  std::vector<InstanceRecord> cheapest;
  for (InstanceRecord& record : offers) {
    const auto same_provider = [&](const InstanceRecord& other) {
      return other.offer.provider == record.offer.provider;
    };
    if (!record.offer.price || std::any_of(cheapest.begin(), cheapest.end(), same_provider)) {
      continue;
    }
    cheapest.push_back(std::move(record));
  }
  return cheapest;
}

Expected<Node> Catalog::Facts(Kind kind, std::string_view id) const {
  if (const std::optional<Ref> ref = FindId(kind, id)) return Tree(kind, *ref);
  return Fail(Error(fmt::format("unknown-{}", Name(kind) == "GPU" ? "gpu" : Name(kind)),
                    fmt::format("no {} has the id {}", Name(kind), Quoted(id)),
                    Joined(Near(kind, id), "or")));
}

}  // namespace trainfit::catalog
