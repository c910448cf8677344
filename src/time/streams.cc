#include "time/streams.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trainfit::time {
namespace {

using program::KernelClass;
using program::Operation;
using program::Segment;

constexpr std::size_t kStreams = program::kStreamCount;
constexpr std::size_t kHost = kStreams;
constexpr std::size_t kLanes = kStreams + 1;
constexpr std::size_t kCompute = static_cast<std::size_t>(program::Stream::kCompute);

constexpr std::int64_t kFirstRounds = 4;
constexpr std::int64_t kMostRounds = 64;
constexpr double kSteady = 1e-3;  // of a round's time: rounds that differ by less are equal

struct Item {
  enum class Kind : std::uint8_t {
    kRun,   // of the host: issuing
    kWait,  // for `lane` to have finished its items before `position`
    kMark,  // a round of a shortened repeat ends here
  };
  Kind kind = Kind::kRun;
  Medium medium = Medium::kProcessors;
  std::uint8_t lane = 0;  // kWait: the awaited
  std::uint32_t position = 0;
  std::uint32_t issued_at = 0;  // the host's item that issues this one
  double seconds = 0;
  const Operation* operation = nullptr;
};

// One occurrence of a repeat whose rounds are not all simulated.
struct Shortened {
  std::int64_t left_out = 0;
  std::size_t rounds = 0;                          // simulated
  std::array<std::vector<double>, kStreams> ends;  // of each round, by stream
  StreamsRun before;                               // as it stood when the last round began

  // How long the last round of a stream took, or one before it.
  double Round(std::size_t stream, std::size_t from_last = 0) const {
    const double* end = ends[stream].data() + ends[stream].size() - from_last;
    return end[-1] - end[-2];
  }
  double LongestRound() const {
    double longest = 0;
    for (std::size_t i = 0; i < kStreams; ++i) longest = std::max(longest, Round(i));
    return longest;
  }
};

// A program as lists of items, one for each stream and the host; repeats are cut to `most` rounds.
class Lists {
 public:
  Lists(const TaskOf& task_of, std::int64_t most) : task_of_(task_of), most_(most) {}

  void Append(const Segment& segment) {
    switch (segment.kind()) {
      case Segment::Kind::kLeaf:
        AppendLeaf(segment);
        return;
      case Segment::Kind::kSequence:
        for (const program::Child& child : segment.children()) Append(*child.segment);
        return;
      case Segment::Kind::kRepeat:
        AppendRepeat(segment);
        return;
    }
  }

  std::array<std::vector<Item>, kLanes> lanes;
  std::vector<Shortened> shortened;

 private:
  void AppendLeaf(const Segment& leaf) {
    auto [tasks, is_new] = tasks_.try_emplace(&leaf);
    if (is_new) {
      for (const Operation& operation : leaf.operations()) {
        const bool runs =
            operation.kernel != KernelClass::kWait && operation.kernel != KernelClass::kHostSync;
        tasks->second.push_back(runs ? task_of_(operation) : Task());
      }
    }
    for (std::size_t i = 0; i < leaf.operations().size(); ++i) {
      AppendOperation(leaf.operations()[i], tasks->second[i]);
    }
  }

  std::uint32_t Size(std::size_t lane) const {
    return static_cast<std::uint32_t>(lanes[lane].size());
  }

  void AppendOperation(const Operation& operation, const Task& task) {
    const auto stream = static_cast<std::size_t>(operation.stream);
    Item item;
    item.issued_at = Size(kHost);
    if (operation.kernel == KernelClass::kWait) {
      item.kind = Item::Kind::kWait;
      item.lane = static_cast<std::uint8_t>(operation.awaited);
      item.position = Size(item.lane);
      lanes[stream].push_back(item);
      return;
    }
    if (operation.kernel == KernelClass::kHostSync) {
      item.kind = Item::Kind::kWait;
      item.lane = static_cast<std::uint8_t>(operation.stream);
      item.position = Size(item.lane);
      lanes[kHost].push_back(item);
      return;
    }
    Item issue;
    issue.seconds = task.issue.value();
    lanes[kHost].push_back(issue);
    item.issued_at = Size(kHost);
    item.seconds = task.alone.value();
    item.medium = task.medium;
    item.operation = &operation;
    lanes[stream].push_back(item);
  }

  void AppendRepeat(const Segment& repeat) {
    const Segment& child = *repeat.children().front().segment;
    if (repeat.count() <= most_) {
      for (std::int64_t round = 0; round < repeat.count(); ++round) Append(child);
      return;
    }
    const auto number = static_cast<std::uint32_t>(shortened.size());
    Shortened& cut = shortened.emplace_back();
    cut.left_out = repeat.count() - most_;
    cut.rounds = static_cast<std::size_t>(most_);
    for (std::int64_t round = 0; round < most_; ++round) {
      Append(child);
      Item mark;
      mark.kind = Item::Kind::kMark;
      mark.position = number;
      mark.issued_at = Size(kHost);
      for (std::size_t stream = 0; stream < kStreams; ++stream) lanes[stream].push_back(mark);
    }
  }

  const TaskOf& task_of_;
  std::int64_t most_;
  std::unordered_map<const Segment*, std::vector<Task>> tasks_;
};

class Simulation {
 public:
  Simulation(Lists& lists, const Contention& contention, SpanSink spans = {})
      : lists_(lists), contention_(contention), spans_(std::move(spans)) {}

  StreamsRun Run() {
    while (true) {
      Settle();
      const double step = NextEnd();
      if (!std::isfinite(step)) break;
      Advance(step);
    }
    run_.total = Seconds(now_ + skipped_);
    return run_;
  }

  // Whether every shortened repeat had come to a steady pace.
  bool IsSteady() const {
    return std::all_of(lists_.shortened.begin(), lists_.shortened.end(), [](const Shortened& cut) {
      const double longest = cut.LongestRound();
      for (std::size_t i = 0; i < kStreams; ++i) {
        if (std::abs(cut.Round(i) - cut.Round(i, 1)) > kSteady * longest) return false;
      }
      return true;
    });
  }

 private:
  struct Lane {
    std::size_t at = 0;
    double left = 0;  // of the item that runs
    bool runs = false;
    double began = 0;
    double rate = 1;
  };

  const std::vector<Item>& Items(std::size_t lane) const { return lists_.lanes[lane]; }

  bool IsDone(std::size_t lane, std::uint32_t position) const {
    return lanes_[lane].at >= position;
  }

  // Starts what can start, and passes over waits and marks that are over.
  void Settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        while (Step(lane)) moved = true;
      }
    }
  }

  bool Step(std::size_t number) {
    Lane& lane = lanes_[number];
    if (lane.runs || lane.at >= Items(number).size()) return false;
    const Item& item = Items(number)[lane.at];
    if (number != kHost && !IsDone(kHost, item.issued_at)) return false;
    switch (item.kind) {
      case Item::Kind::kWait:
        if (!IsDone(item.lane, item.position)) return false;
        ++lane.at;
        return true;
      case Item::Kind::kMark:
        Mark(number, lists_.shortened[item.position]);
        ++lane.at;
        return true;
      case Item::Kind::kRun:
        lane.runs = true;
        lane.left = item.seconds;
        lane.began = now_;
        return true;
    }
    return false;
  }

  // The rounds that are left out take as long as the last one of the slowest stream.
  void Mark(std::size_t stream, Shortened& cut) {
    cut.ends[stream].push_back(now_ + skipped_);
    const auto have = [&](std::size_t rounds) {
      return std::all_of(cut.ends.begin(), cut.ends.end(),
                         [&](const auto& ends) { return ends.size() >= rounds; });
    };
    if (stream == kCompute && cut.ends[stream].size() + 1 == cut.rounds) cut.before = run_;
    if (!have(cut.rounds)) return;
    const auto left_out = static_cast<double>(cut.left_out);
    skipped_ += cut.LongestRound() * left_out;
    for (std::size_t i = 0; i < kStreams; ++i) {
      run_.busy[i] += (run_.busy[i] - cut.before.busy[i]) * left_out;
    }
    run_.waited_for_stream += (run_.waited_for_stream - cut.before.waited_for_stream) * left_out;
    run_.waited_for_host += (run_.waited_for_host - cut.before.waited_for_host) * left_out;
  }

  bool Runs(std::size_t lane) const { return lanes_[lane].runs; }
  Medium MediumOf(std::size_t lane) const { return Items(lane)[lanes_[lane].at].medium; }

  // Rates of what runs now; how soon the first of it ends.
  double NextEnd() {
    std::array<int, kMediumCount> users = {};
    for (std::size_t lane = 0; lane < kStreams; ++lane) {
      if (Runs(lane)) ++users[static_cast<std::size_t>(MediumOf(lane))];
    }
    const int exchanges = users[static_cast<std::size_t>(Medium::kIsland)] +
                          users[static_cast<std::size_t>(Medium::kNetwork)];
    const bool both = exchanges > 0 && users[static_cast<std::size_t>(Medium::kProcessors)] > 0;
    double soonest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[i];
      if (!lane.runs) continue;
      lane.rate = 1;
      if (i != kHost) {
        const Medium medium = MediumOf(i);
        if (both && medium != Medium::kHostLink) lane.rate /= contention_.beside_exchange;
        if (medium != Medium::kProcessors && contention_.links_are_shared) {
          lane.rate /= users[static_cast<std::size_t>(medium)];
        }
      }
      soonest = std::min(soonest, lane.left / lane.rate);
    }
    return soonest;
  }

  void Advance(double step) {
    now_ += step;
    CountIdle(step);
    for (std::size_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[i];
      if (!lane.runs) continue;
      lane.left -= step * lane.rate;
      // What is left of a rounding error ends now as well.
      constexpr double kNothing = 1e-15;
      if (lane.left > kNothing) continue;
      lane.runs = false;
      if (i != kHost) {
        const Item& item = Items(i)[lane.at];
        run_.busy[i] += Seconds(now_ - lane.began);
        if (spans_) spans_({item.operation, Seconds(lane.began), Seconds(now_)});
      }
      ++lane.at;
    }
  }

  void CountIdle(double step) {
    const Lane& compute = lanes_[kCompute];
    if (compute.runs || compute.at >= Items(kCompute).size()) return;
    const bool is_issued = IsDone(kHost, Items(kCompute)[compute.at].issued_at);
    (is_issued ? run_.waited_for_stream : run_.waited_for_host) += Seconds(step);
  }

  Lists& lists_;
  const Contention& contention_;
  SpanSink spans_;
  std::array<Lane, kLanes> lanes_;
  double now_ = 0;
  double skipped_ = 0;  // time of rounds that were left out
  StreamsRun run_;
};

}  // namespace

StreamsRun RunStreams(const Segment& segment, const TaskOf& task_of, const Contention& contention,
                      const SpanSink& spans) {
  for (std::int64_t rounds = kFirstRounds;; rounds *= 2) {
    Lists lists(task_of, rounds);
    lists.Append(segment);
    Simulation simulation(lists, contention);
    const StreamsRun run = simulation.Run();
    if (!simulation.IsSteady() && rounds < kMostRounds) continue;
    if (spans) {
      for (Shortened& cut : lists.shortened) cut.ends = {};
      Simulation(lists, contention, spans).Run();
    }
    return run;
  }
}

}  // namespace trainfit::time
