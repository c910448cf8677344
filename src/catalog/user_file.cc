// A user's own catalogue file, on top of the built-in data.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/catalog.h"

namespace trainfit::catalog {
namespace {

using config::Node;
using config::NodeKind;

struct Part {
  std::string_view key;
  Kind kind;
};
constexpr std::array<Part, kKinds> kParts = {{{"gpus", Kind::kGpu},
                                              {"instances", Kind::kInstance},
                                              {"links", Kind::kLink},
                                              {"models", Kind::kModel}}};

Diagnostics Check(Kind kind, const Node& record) {
  const auto errors = [](auto read) { return read ? Diagnostics{} : std::move(read).error(); };
  switch (kind) {
    case Kind::kGpu:
      return errors(ReadGpu(record));
    case Kind::kInstance:
      return errors(ReadInstance(record));
    case Kind::kLink:
      return errors(ReadLink(record));
    case Kind::kModel:
      return errors(ReadModel(record));
  }
  return {};
}

void AddNames(Kind kind, std::string_view name, std::vector<std::string>* names) {
  names->push_back(NormalizeName(kind, name));
  const std::size_t slash = name.find('/');
  if (kind == Kind::kModel && slash != std::string_view::npos) {
    names->push_back(NormalizeName(kind, name.substr(slash + 1)));
  }
}

void AddNames(Kind kind, const Node* list, std::vector<std::string>* names) {
  if (list == nullptr) return;
  for (const Node& name : list->items) AddNames(kind, name.text, names);
}

void Append(Diagnostics more, Diagnostics* all) {
  for (Diagnostic& diagnostic : more) all->push_back(std::move(diagnostic));
}

Diagnostic UnknownPart(const Node& file) {
  std::vector<std::string> known;
  known.reserve(kParts.size());
  for (const Part& part : kParts) known.emplace_back(part.key);
  for (const config::Member& member : file.members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    return ErrorAt(member.value.Span(), "unknown-key",
                   fmt::format("a catalogue has gpus, instances, links and models, not {}",
                               Quoted(member.key)),
                   NearestWord(member.key, known));
  }
  return {};
}

}  // namespace

// An instance must name a GPU that is here or in the same file.
Diagnostics Catalog::CheckReferences(Kind kind, const Added& added,
                                     const std::array<std::vector<Added>, kKinds>& fresh) const {
  if (kind != Kind::kInstance) return {};
  const Node* gpu = added.node.Find("gpu");
  const auto& gpus = fresh[static_cast<std::size_t>(Kind::kGpu)];
  const bool is_fresh = std::any_of(gpus.begin(), gpus.end(),
                                    [&](const Added& other) { return other.id == gpu->text; });
  if (is_fresh || FindId(Kind::kGpu, gpu->text)) return {};
  const std::vector<std::string> near = Near(Kind::kGpu, gpu->text);
  return {ErrorAt(gpu->Span(), "unknown-gpu",
                  fmt::format("no GPU has the id {}", Quoted(gpu->text)),
                  near.empty() ? "" : near[0])};
}

Diagnostics Catalog::Add(const Node& file) {
  if (file.kind != NodeKind::kObject) {
    return {ErrorAt(file.Span(), "wrong-type",
                    fmt::format("a catalogue is an object, found {}", Name(file.kind)))};
  }
  Diagnostics errors;
  if (const Diagnostic unknown = UnknownPart(file); !unknown.code.empty()) {
    errors.push_back(unknown);
  }
  std::array<std::vector<Added>, kKinds> fresh;
  for (const Part& part : kParts) {
    const Node* records = file.Find(part.key);
    if (records == nullptr) continue;
    if (records->kind != NodeKind::kArray) {
      errors.push_back(ErrorAt(
          records->Span(), "wrong-type",
          fmt::format("{} must be an array, found {}", Quoted(part.key), Name(records->kind))));
      continue;
    }
    for (const Node& record : records->items) {
      Diagnostics wrong = Check(part.kind, record);
      const bool is_right = wrong.empty();
      Append(std::move(wrong), &errors);
      if (!is_right) continue;
      Added added;
      added.id = record.Find("id")->text;
      AddNames(part.kind, added.id, &added.names);
      AddNames(part.kind, record.Find("aliases"), &added.names);
      AddNames(part.kind, record.Find("device_names"), &added.names);
      AddNames(part.kind, record.Find("same_shapes"), &added.other_names);
      added.node = record;
      fresh[static_cast<std::size_t>(part.kind)].push_back(std::move(added));
    }
  }
  for (const Part& part : kParts) {
    for (const Added& added : fresh[static_cast<std::size_t>(part.kind)]) {
      Append(CheckReferences(part.kind, added, fresh), &errors);
    }
  }
  if (!errors.empty()) return errors;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (Added& added : fresh[kind]) {
      std::erase_if(added_[kind], [&](const Added& old) { return old.id == added.id; });
      added_[kind].push_back(std::move(added));
    }
  }
  return {};
}

}  // namespace trainfit::catalog
