#include "time/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/check.h"

namespace trainfit::time {
namespace {

using program::Pass;

constexpr double kNotYet = std::numeric_limits<double>::infinity();

// Walks the passes of a stage's order one after the other.
class Cursor {
 public:
  explicit Cursor(const program::StageOrder& order) : order_(&order) { SkipEmpty(); }

  bool AtEnd() const { return part_ == kParts; }
  const Pass& Now() const { return Passes()[at_]; }
  void Next() {
    ++at_;
    SkipEmpty();
  }

 private:
  static constexpr int kParts = 3;  // before, period, after

  const std::vector<Pass>& Passes() const {
    return part_ == 0 ? order_->before : part_ == 1 ? order_->period : order_->after;
  }
  void SkipEmpty() {
    while (part_ < kParts && at_ >= Passes().size()) {
      at_ = 0;
      if (part_ == 1 && ++round_ < order_->repeats && !Passes().empty()) continue;
      ++part_;
      if (part_ == 1 && order_->repeats == 0) ++part_;
    }
  }

  const program::StageOrder* order_;
  int part_ = 0;
  std::int64_t round_ = 0;
  std::size_t at_ = 0;
};

// When each pass of one direction through one chunk of one stage was over, by micro-batch.
struct Ends {
  std::vector<double> forward;
  std::vector<double> backward;
};

class Simulation {
 public:
  Simulation(std::span<const StageTimes> stages, std::span<const program::StageOrder> orders,
             const PassSink& passes)
      : stages_(stages), chunks_(stages.front().forward.size()), passes_(passes) {
    for (const program::StageOrder& order : orders) cursors_.emplace_back(order);
    ends_.resize(stages.size() * chunks_);
    clocks_.resize(stages.size(), 0);
    busy_.resize(stages.size(), 0);
  }

  PipelineRun Run() {
    // A stage goes as far as its neighbours let it; the order that schedules have ends this.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        while (Step(stage)) moved = true;
      }
    }
    PipelineRun run;
    double total = 0;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      CHECK(cursors_[stage].AtEnd()) << "stages of a pipeline wait for each other";
      const double update = stages_[stage].update.value();
      total = std::max(total, clocks_[stage] + update);
      busy_[stage] += update;
    }
    const auto busiest = std::max_element(busy_.begin(), busy_.end());
    run.total = Seconds(total);
    run.busy = Seconds(*busiest);
    run.idle = Seconds(total - *busiest);
    run.busiest = busiest - busy_.begin();
    return run;
  }

 private:
  Ends& Of(std::size_t stage, std::size_t chunk) { return ends_[stage * chunks_ + chunk]; }

  // When what this pass needs of its neighbour is there; the first of all needs nothing.
  double Ready(std::size_t stage, const Pass& pass, std::size_t micro_batch) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    const std::size_t last = stages_.size() - 1;
    const std::vector<double>* needed = nullptr;
    if (pass.is_forward) {
      if (stage == 0 && chunk == 0) return 0;
      needed = stage > 0 ? &Of(stage - 1, chunk).forward : &Of(last, chunk - 1).forward;
    } else {
      if (stage == last && chunk + 1 == chunks_) {
        needed = &Of(stage, chunk).forward;
      } else {
        needed = stage < last ? &Of(stage + 1, chunk).backward : &Of(0, chunk + 1).backward;
      }
    }
    return micro_batch < needed->size() ? (*needed)[micro_batch] : kNotYet;
  }

  bool Step(std::size_t stage) {
    Cursor& cursor = cursors_[stage];
    if (cursor.AtEnd()) return false;
    const Pass& pass = cursor.Now();
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    std::vector<double>& own =
        pass.is_forward ? Of(stage, chunk).forward : Of(stage, chunk).backward;
    const double ready = Ready(stage, pass, own.size());
    if (ready == kNotYet) return false;
    const StageTimes& times = stages_[stage];
    const double seconds = (pass.is_forward ? times.forward : times.backward)[chunk].value();
    const double begin = std::max(clocks_[stage], ready);
    clocks_[stage] = begin + seconds;
    if (passes_) {
      passes_({static_cast<std::int64_t>(stage), pass, own.size(), Seconds(begin),
               Seconds(clocks_[stage])});
    }
    busy_[stage] += seconds;
    own.push_back(clocks_[stage]);
    cursor.Next();
    return true;
  }

  std::span<const StageTimes> stages_;
  std::size_t chunks_;
  const PassSink& passes_;
  std::vector<Cursor> cursors_;
  std::vector<Ends> ends_;  // by stage, then chunk
  std::vector<double> clocks_;
  std::vector<double> busy_;
};

}  // namespace

PipelineRun RunPipeline(std::span<const StageTimes> stages,
                        std::span<const program::StageOrder> orders, const PassSink& passes) {
  CHECK(!stages.empty() && stages.size() == orders.size());
  return Simulation(stages, orders, passes).Run();
}

}  // namespace trainfit::time
