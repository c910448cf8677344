#include "verdict/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "verdict/capacity.h"

namespace trainfit::verdict {
namespace {

using memory::PhaseReading;
using program::Place;

// What a node needs of one place: parts that sum to the point, and how far it may be off.
struct Need {
  std::vector<PartBytes> parts;
  memory::Range bytes;
};

// Programs on the host are exact in their tensors; copies of single tensors, glibc's arenas and the
// queue of the data loader come on top.
memory::Range OfTensors(Bytes bytes) {
  constexpr std::int64_t kPercent = 100;
  constexpr std::int64_t kBelow = 3;
  constexpr std::int64_t kAbove = 10;
  return {bytes - Bytes(bytes.value() / kPercent * kBelow), bytes,
          bytes + Bytes(bytes.value() / kPercent * kAbove)};
}

memory::OverheadRow SystemBytes() {
  return {"operating system",
          {512 * kMiB, 1 * kGiB, 3 * kGiB},
          Basis::kAssumed,
          "a server without a desktop; page cache is given back and not counted"};
}

std::string Labels(const memory::PlaceReading& reading, program::Role role) {
  std::string text;
  for (const memory::Part& part : reading.parts) {
    if (part.role != role || part.bytes == Bytes()) continue;
    if (!text.empty()) text += ", ";
    text += std::string(part.label);
  }
  return text;
}

void AddTensors(const memory::PlaceReading& reading, std::int64_t times, Need& need) {
  for (const memory::Part& part : memory::ByRole(reading.parts)) {
    if (part.bytes == Bytes()) continue;
    need.parts.push_back(
        {std::string(Name(part.role)), times * part.bytes, Basis::kExact,
         fmt::format("{} × {:.3f} GiB ({})", times, InGiB(part.bytes), Labels(reading, part.role)),
         "the program of this phase"});
  }
  need.bytes = memory::AddIndependent(need.bytes, OfTensors(times * reading.levels.peak));
}

void AddRow(const memory::OverheadRow& row, std::int64_t times, Need& need) {
  need.parts.push_back({std::string(row.name), times * row.bytes.point, row.basis,
                        fmt::format("{} × {:.2f} GiB", times, InGiB(row.bytes.point)),
                        std::string(row.source)});
  // Of equal processes: their errors are not independent.
  need.bytes = memory::AddIndependent(
      need.bytes, {times * row.bytes.low, times * row.bytes.point, times * row.bytes.high});
}

PlaceAnswer Answered(Place place, std::string_view scope, Need need,
                     const std::optional<Bytes>& capacity) {
  PlaceAnswer answer;
  answer.place = place;
  answer.scope = scope;
  answer.bytes = {need.bytes.point, need.bytes.low, need.bytes.high};
  answer.capacity = capacity;
  answer.fit = capacity ? Compare(answer.bytes, *capacity) : Fit::kUnknown;
  std::stable_sort(need.parts.begin(), need.parts.end(),
                   [](const PartBytes& a, const PartBytes& b) { return a.bytes > b.bytes; });
  answer.parts = std::move(need.parts);
  return answer;
}

// Of several rank classes, the one with most: a node may consist of it alone.
const PhaseReading& Worst(const std::vector<std::vector<PhaseReading>>& ranks, std::size_t phase,
                          Place place) {
  const PhaseReading* worst = &ranks.front()[phase];
  for (const auto& rank : ranks) {
    if (phase >= rank.size()) continue;
    if (rank[phase].at(place).levels.peak > worst->at(place).levels.peak) worst = &rank[phase];
  }
  return *worst;
}

class NodeJudge {
 public:
  NodeJudge(const plan::Plan& plan, const spec::Machine& machine)
      : plan_(plan), machine_(machine) {}

  std::optional<PlaceAnswer> Host(const PhaseReading& rank,
                                  const memory::PlaceReading* node) const {
    if (rank.phase == program::Phase::kDownload) return std::nullopt;
    Need need;
    const std::int64_t ranks = plan_.ranks_per_node;
    AddTensors(rank.at(Place::kHost), ranks, need);
    AddRow(PinnedRounding(rank), ranks, need);
    if (node != nullptr) AddTensors(*node, 1, need);
    AddRow(ProcessBytes(), ranks, need);
    AddRow(SystemBytes(), 1, need);
    std::erase_if(need.parts, [](const PartBytes& part) { return part.bytes == Bytes(); });
    return Answered(Place::kHost, "node", std::move(need), machine_.host_memory_per_node);
  }

  std::optional<PlaceAnswer> Pinned(const PhaseReading& rank) const {
    if (rank.pinned_reserved_peak == Bytes()) return std::nullopt;
    Need need;
    AddTensors(rank.at(Place::kPinned), plan_.ranks_per_node, need);
    AddRow(PinnedRounding(rank), plan_.ranks_per_node, need);
    return Answered(Place::kPinned, "node", std::move(need), machine_.host_memory_per_node);
  }

  std::optional<PlaceAnswer> Disk(const PhaseReading& rank,
                                  const memory::PlaceReading* node) const {
    Need need;
    AddTensors(rank.at(Place::kDisk), plan_.ranks_per_node, need);
    if (node != nullptr) AddTensors(*node, 1, need);
    if (need.bytes.point == Bytes()) return std::nullopt;
    return Answered(Place::kDisk, "file system", std::move(need), machine_.disk_per_node);
  }

 private:
  static memory::OverheadRow PinnedRounding(const PhaseReading& rank) {
    const Bytes more =
        std::max(Bytes(), rank.pinned_reserved_peak - rank.at(Place::kPinned).levels.peak);
    return {"rounding of pinned buffers",
            {more, more, more},
            Basis::kSource,
            "aten/src/ATen/core/CachingHostAllocator.h: powers of two, never given back"};
  }

  const plan::Plan& plan_;
  const spec::Machine& machine_;
};

}  // namespace

memory::OverheadRow ProcessBytes() {
  return {"Python, torch and CUDA libraries",
          {1536 * kMiB, 3 * kGiB, 4608 * kMiB},
          Basis::kAssumed,
          "resident memory of a training process before any tensor: 2-4 GB"};
}

void AddNodePlaces(const plan::Plan& plan, const spec::Machine& machine,
                   const std::vector<std::vector<PhaseReading>>& ranks,
                   const program::RankProgram& node, Answer& answer) {
  memory::ReadOptions options;
  options.replay = false;
  const std::vector<PhaseReading> once = memory::ReadPhases(node, options);
  const NodeJudge judge(plan, machine);
  for (std::size_t i = 0; i < answer.phases.size(); ++i) {
    const PhaseReading* of_node = i < once.size() ? &once[i] : nullptr;
    const auto at = [&](Place place) { return of_node ? &of_node->at(place) : nullptr; };
    std::vector<PlaceAnswer>& places = answer.phases[i].ranks.front().places;
    const PhaseReading& rank = Worst(ranks, i, Place::kHost);
    for (std::optional<PlaceAnswer>& place :
         std::array{judge.Host(rank, at(Place::kHost)), judge.Pinned(rank),
                    judge.Disk(Worst(ranks, i, Place::kDisk), at(Place::kDisk))}) {
      if (place) places.push_back(*std::move(place));
    }
  }
}

}  // namespace trainfit::verdict
