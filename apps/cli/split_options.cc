#include "cli/split_options.h"

#include <algorithm>
#include <array>

#include "cli/values.h"

namespace trainfit::cli {
namespace {

using Complaint = std::optional<Diagnostic>;

constexpr Bounds kRanks{1, std::int64_t{1} << 20};

spec::Parallelism& Split(Request* request) {
  if (!request->recipe.parallelism) request->recipe.parallelism.emplace();
  return *request->recipe.parallelism;
}

}  // namespace

Complaint SetTensorParallel(std::string_view value, Request* request) {
  return ReadCount(value, kRanks, false, &Split(request).tensor);
}

Complaint SetPipelineParallel(std::string_view value, Request* request) {
  return ReadCount(value, kRanks, false, &Split(request).pipeline);
}

Complaint SetVirtualStages(std::string_view value, Request* request) {
  return ReadCount(value, kRanks, false, &Split(request).virtual_stages);
}

Complaint SetContextParallel(std::string_view value, Request* request) {
  return ReadCount(value, kRanks, false, &Split(request).context);
}

Complaint SetExpertParallel(std::string_view value, Request* request) {
  return ReadCount(value, kRanks, false, &Split(request).expert);
}

Complaint SetExpertTensor(std::string_view value, Request* request) {
  std::int64_t ranks = 0;
  Complaint complaint = ReadCount(value, kRanks, false, &ranks);
  if (!complaint) Split(request).expert_tensor = ranks;
  return complaint;
}

Complaint SetSequenceParallel(std::string_view value, Request* request) {
  Split(request).sequence_parallel = value == "yes";
  return std::nullopt;
}

Complaint SetRecompute(std::string_view value, Request* request) {
  request->recipe.checkpointing = spec::Checkpointing::kSelective;
  request->recipe.recompute.clear();
  constexpr std::array<Synonym<spec::Recompute>, 0> kSynonyms = {};
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    std::optional<spec::Recompute> module;
    if (Complaint complaint = ReadWord("recompute", value.substr(0, comma),
                                       spec::Recompute::kSharedExperts, kSynonyms, &module)) {
      return complaint;
    }
    request->recipe.recompute.push_back(*module);
    if (comma == value.size()) return std::nullopt;
    value.remove_prefix(comma + 1);
  }
}

std::vector<std::string> RecomputeWords() { return PrintedWords(spec::Recompute::kSharedExperts); }

Complaint SetOffload(std::string_view value, Request* request) {
  spec::ZeroRecipe& zero = request->recipe.zero;
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view item = value.substr(0, comma);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view what = item.substr(0, equals);
    const std::string_view where = equals == item.size() ? "cpu" : item.substr(equals + 1);
    const bool is_known = what == "optimizer" || what == "params";
    if (!is_known || (where != "cpu" && where != "nvme")) {
      return Error("unknown-offload", "there is no offload \"" + std::string(item) + "\"",
                   "optimizer, params, optimizer,params; optimizer=nvme for a disk");
    }
    const spec::Offload to = where == "nvme" ? spec::Offload::kNvme : spec::Offload::kCpu;
    (what == "optimizer" ? zero.offload_optimizer : zero.offload_param) = to;
    if (comma == value.size()) return std::nullopt;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace trainfit::cli
