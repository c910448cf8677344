// GPUs, machines, links and models by the names that people type.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "catalog/names.h"
#include "catalog/records.h"
#include "config/node.h"
#include "spec/kernel_rates.h"
#include "spec/link.h"
#include "spec/machine.h"

namespace trainfit::catalog {

// What a name was found to mean, and what had to be assumed for that.
template <typename Record>
struct Match {
  Record record;
  std::vector<std::string> assumptions;  // `"A100-80" taken as a100-sxm-80 (…)`
  bool is_same_shape = false;            // of a model: the only assumption, and a known fact
};

// The built-in data, and on top of it the records of a user's files.
//
// Names match without regard to case, spaces, dashes, underscores, "NVIDIA", "GeForce" and the
// like. A name that fits several things is either assumed to be one of them, and the match says
// so, or it is an error that lists them (data/shared_names.json decides). A record is parsed when
// it is asked for, so making a Catalog costs nothing.
class Catalog {
 public:
  // Adds the records of a file of the form {"gpus": [...], "instances": [...], "links": [...],
  // "models": [...]}, all parts optional, each record as in data/. A record replaces the one of
  // the same id. All or nothing: a file with a mistake adds nothing.
  Diagnostics Add(const config::Node& file);

  // `reported_memory`, the total that a driver shows, decides between cards of one name
  // ("NVIDIA GeForce RTX 3060"). A size in the name does the same: "A40 48GB".
  Expected<Match<GpuRecord>> FindGpu(std::string_view name,
                                     std::optional<Bytes> reported_memory = {}) const;
  Expected<Match<InstanceRecord>> FindInstance(std::string_view name) const;
  Expected<Match<spec::Link>> FindLink(std::string_view name) const;
  // Hub ids of the catalogue and of fine-tuned versions with the same tensor shapes, with or
  // without the organisation, or the address of the model's page.
  Expected<Match<ModelRecord>> FindModel(std::string_view name) const;
  // The known model that a name which nothing is called seems to mean: its base by the words of a
  // tuned model's name ("dolphin-2.6-mistral-7b"), a usual shape for a bare size ("7B"). The
  // match's assumptions say which and why. Errors: nothing is near enough.
  Expected<Match<ModelRecord>> GuessModel(std::string_view name) const;

  // True when the name is that of something here, even if it fits several. Sizes are not looked
  // at: "A40 48GB" is no name.
  bool Knows(Kind kind, std::string_view name) const;

  // The ids that a name may mean, in no order that matters: one, several, or none.
  std::vector<std::string> Meant(Kind kind, std::string_view name) const;

  // Ids in order, and everything behind them.
  std::vector<std::string> Ids(Kind kind) const;
  Expected<std::vector<GpuRecord>> ListGpus() const;
  Expected<std::vector<InstanceRecord>> ListInstances() const;

  // The machines with this GPU, cheapest on-demand price a GPU first, those without a price last.
  Expected<std::vector<InstanceRecord>> OffersOf(std::string_view gpu_id) const;
  // Of those, the cheapest of each provider; only with a price.
  Expected<std::vector<InstanceRecord>> CheapestOffers(std::string_view gpu_id) const;

  // Everything that is written about one id, for showing it: all keys of its file.
  Expected<config::Node> Facts(Kind kind, std::string_view id) const;

  // Known names near a mistyped one, at most three, nearest first.
  std::vector<std::string> Near(Kind kind, std::string_view name) const;

 private:
  struct Added {
    std::string id;
    std::vector<std::string> names;        // normalized, the id's first
    std::vector<std::string> other_names;  // of models with the same shapes
    config::Node node;
  };
  // A record: of the user's, or the built-in one at `place`.
  struct Ref {
    const Added* added = nullptr;
    std::size_t place = 0;
    bool operator==(const Ref&) const = default;
  };
  // What a normalized name may mean.
  struct Lookup {
    std::vector<Ref> refs;
    std::optional<Ref> assumed;
    std::string why;
    bool is_other = false;
  };

  Lookup Find(Kind kind, const std::string& normalized, bool prefer_shared = false) const;
  std::optional<Ref> FindId(Kind kind, std::string_view id) const;
  std::string Id(Kind kind, const Ref& ref) const;
  Expected<config::Node> Tree(Kind kind, const Ref& ref) const;
  // The record behind a reference; Record decides its kind.
  template <typename Record>
  Expected<Record> Read(const Ref& ref) const;
  template <typename Record>
  Expected<std::vector<Record>> ReadAll() const;
  std::vector<Ref> All(Kind kind) const;
  // The one that is meant, or why that cannot be said.
  Expected<Ref> Choose(Kind kind, std::string_view name, const Lookup& found,
                       std::vector<std::string>* assumptions) const;
  Expected<Lookup> FindSizedGpu(std::string_view name) const;
  Expected<Lookup> KeepSize(Lookup found, double gb) const;
  void KeepReported(Bytes reported, Lookup* found) const;
  Diagnostics CheckReferences(Kind kind, const Added& added,
                              const std::array<std::vector<Added>, kKinds>& fresh) const;

  std::array<std::vector<Added>, kKinds> added_;
};

// How near to its peaks a card of this compute capability comes (data/calibration/); typical rates
// for one that nothing is known of.
spec::KernelRates RatesOf(std::string_view compute_capability);

std::string_view Name(Kind kind);  // "GPU", "machine", "link", "model"

}  // namespace trainfit::catalog
