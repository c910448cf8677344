#include "program/schedule.h"

#include <algorithm>
#include <deque>

namespace trainfit::program {
namespace {

// Which chunk the n-th pass goes through: groups of as many micro-batches as there are stages run
// through one chunk after the other (get_schedule_table).
std::int32_t ChunkOf(std::int64_t n, const plan::Parallel& parallel, bool is_forward) {
  const std::int64_t chunks = parallel.virtual_stages;
  const auto chunk = static_cast<std::int32_t>(n / parallel.pipeline % chunks);
  return is_forward ? chunk : static_cast<std::int32_t>(chunks) - 1 - chunk;
}

// get_pp_rank_microbatches: forward passes before the first backward pass.
std::int64_t WarmUp(const plan::Parallel& parallel, std::int64_t stage, std::int64_t passes) {
  const std::int64_t after = parallel.pipeline - stage - 1;
  if (parallel.order == spec::PipelineOrder::kAllForwardFirst) return passes;
  if (parallel.virtual_stages == 1) return std::min(after, passes);
  return std::min(2 * after + (parallel.virtual_stages - 1) * parallel.pipeline, passes);
}

// Hands out the places of each chunk, first in, first out.
class Places {
 public:
  explicit Places(std::int64_t chunks)
      : used_(static_cast<std::size_t>(chunks)), free_(used_.size()), made_(used_.size(), 0) {}

  Pass Forward(std::int32_t chunk) {
    const auto i = static_cast<std::size_t>(chunk);
    std::int32_t place = 0;
    if (free_[i].empty()) {
      place = made_[i]++;
    } else {
      place = free_[i].front();
      free_[i].pop_front();
    }
    used_[i].push_back(place);
    return {true, chunk, place};
  }
  Pass Backward(std::int32_t chunk) {
    const auto i = static_cast<std::size_t>(chunk);
    const std::int32_t place = used_[i].front();
    used_[i].pop_front();
    free_[i].push_back(place);
    return {false, chunk, place};
  }

 private:
  std::vector<std::deque<std::int32_t>> used_;
  std::vector<std::deque<std::int32_t>> free_;
  std::vector<std::int32_t> made_;
};

// Length of the shortest period, a multiple of `unit`, with which `passes` begins at least twice; 0
// if there is none.
std::size_t PeriodOf(const std::vector<Pass>& passes, std::size_t unit) {
  for (std::size_t length = unit; 2 * length <= passes.size(); length += unit) {
    const auto middle = passes.begin() + static_cast<std::ptrdiff_t>(length);
    if (std::equal(passes.begin(), middle, middle)) return length;
  }
  return 0;
}

}  // namespace

StageOrder OrderOf(const plan::Parallel& parallel, std::int64_t stage, std::int64_t micro_batches) {
  const std::int64_t passes = micro_batches * parallel.virtual_stages;
  const std::int64_t warm_up = WarmUp(parallel, stage, passes);
  Places places(parallel.virtual_stages);
  StageOrder order;
  std::vector<Pass> steady;
  for (std::int64_t n = 0; n < warm_up; ++n) {
    order.before.push_back(places.Forward(ChunkOf(n, parallel, true)));
  }
  for (std::int64_t n = 0; n < passes - warm_up; ++n) {
    steady.push_back(places.Forward(ChunkOf(warm_up + n, parallel, true)));
    steady.push_back(places.Backward(ChunkOf(n, parallel, false)));
  }
  const auto unit = static_cast<std::size_t>(
      2 * (parallel.virtual_stages > 1 ? parallel.pipeline * parallel.virtual_stages : 1));
  const std::size_t length = PeriodOf(steady, unit);
  std::size_t at = 0;
  if (length > 0) {
    order.period.assign(steady.begin(), steady.begin() + static_cast<std::ptrdiff_t>(length));
    for (; at + length <= steady.size(); at += length) {
      const auto begin = steady.begin() + static_cast<std::ptrdiff_t>(at);
      if (!std::equal(order.period.begin(), order.period.end(), begin)) break;
      ++order.repeats;
    }
  }
  order.after.assign(steady.begin() + static_cast<std::ptrdiff_t>(at), steady.end());
  for (std::int64_t n = passes - warm_up; n < passes; ++n) {
    order.after.push_back(places.Backward(ChunkOf(n, parallel, false)));
  }
  return order;
}

}  // namespace trainfit::program
