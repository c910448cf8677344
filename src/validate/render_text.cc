#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "validate/labels.h"
#include "validate/render.h"

namespace trainfit::validate {
namespace {

constexpr int kNameWidth = 18;
constexpr int kIdWidth = 74;
constexpr int kScreen = 80;

std::string Percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string Padded(std::string_view text, int width) {
  std::string cut = CutToWidth(text, width);
  cut.append(static_cast<std::size_t>(std::max(0, width - DisplayWidth(cut))), ' ');
  return cut;
}

std::string GroupLine(const Group& group, const Errors& e) {
  std::string line = fmt::format("{} {:5} {:7}", Padded(Printable(group.name), kNameWidth),
                                 group.rows, group.refused);
  if (e.count == 0) return line + "\n";
  return line + fmt::format(" {:5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>5.0f} {:>5}\n", e.count,
                            Percent(e.median), Percent(e.mean), Percent(e.p90), Percent(e.max),
                            Percent(e.bias), 100 * e.in_range, Percent(e.median_width));
}

std::string GroupTable(const std::vector<Group>& groups, GroupBy by, std::string_view of,
                       Errors Group::* errors) {
  std::string text = fmt::format(
      "\n{}: errors in %, |predicted - measured| / measured; bias is signed;\n"
      "in: measured inside the range; width: of the range, median\n"
      "{}  rows refused  read median   mean    p90    max   bias    "
      "in width\n",
      of, Padded("by " + std::string(Name(by)), kNameWidth));
  for (const Group& group : groups) text += GroupLine(group, group.*errors);
  return text;
}

std::string OutcomeText(const Outcomes& outcomes) {
  const auto yes = [](std::int64_t all, std::int64_t tight, std::int64_t wrong) {
    return all - tight - wrong;
  };
  std::string text = "\nverdicts               runs  right  tight  wrong\n";
  text += fmt::format("ran                   {:5} {:6} {:6} {:6}\n", outcomes.fits,
                      yes(outcomes.fits, outcomes.fits_tight, outcomes.fits_refuted),
                      outcomes.fits_tight, outcomes.fits_refuted);
  text += fmt::format("ran out of memory     {:5} {:6} {:6} {:6}\n", outcomes.oom,
                      yes(outcomes.oom, outcomes.oom_tight, outcomes.oom_missed),
                      outcomes.oom_tight, outcomes.oom_missed);
  return text;
}

std::string ReportText(const ReportScore& score) {
  const std::int64_t all = score.step_failures + score.step_ran + score.other_failures;
  if (all == 0) return "";
  std::string text = "\nreports                rows  predicted so\n";
  text += fmt::format("failed in a step      {:5} {:6}\n", score.step_failures, score.step_called);
  text += fmt::format("failed elsewhere      {:5} {:6}\n", score.other_failures, score.other_named);
  text += fmt::format("trained               {:5} {:6}, {} called failures\n", score.step_ran,
                      score.step_ran - score.false_alarms, score.false_alarms);
  return text + fmt::format("of these refused      {:5}\n", score.refused);
}

std::string ReasonText(const std::vector<Reason>& reasons) {
  if (reasons.empty()) return "";
  std::string text = "\nrefused\n";
  for (const Reason& reason : reasons) text += fmt::format("{:5}  {}\n", reason.rows, reason.text);
  return text;
}

std::string WorstTimeText(const Row& row) {
  const verdict::StepTime& time = *row.prediction.time;
  std::string text = fmt::format(
      "\n{}\n  a step measured {:.4g} s, predicted {:.4g} ({:.4g}-{:.4g}): {:+.1f} %\n  ",
      CutToWidth(Printable(row.record.run.id), kIdWidth), row.time->measured.value(),
      time.point.value(), time.low.value(), time.high.value(), 100 * row.time->Error());
  for (const auto& [name, share] : time.by_class) {
    if (share >= 0.01) text += fmt::format("{} {:.0f} %  ", name, 100 * share);
  }
  return text + "\n";
}

std::string WorstText(const Row& row) {
  const Comparison& main = *row.main;
  std::string text =
      fmt::format("\n{}\n  {} measured {:.2f} GiB, predicted {:.2f} ({:.2f}-{:.2f}): {:+.1f} %\n",
                  CutToWidth(Printable(row.record.run.id), kIdWidth), main.meaning,
                  InGiB(main.measured), InGiB(main.predicted.point), InGiB(main.predicted.low),
                  InGiB(main.predicted.high), 100 * main.Error());
  for (const Comparison& other : row.others) {
    text += fmt::format("  {} measured {:.2f} GiB, predicted {:.2f}: {:+.1f} %\n", other.meaning,
                        InGiB(other.measured), InGiB(other.predicted.point), 100 * other.Error());
  }
  text += fmt::format("  {}: {}\n", row.prediction.phase, row.prediction.moment);
  for (const verdict::PartBytes& part : row.prediction.parts) {
    text +=
        CutToWidth(fmt::format("  {:9.3f} GiB  {}: {}", InGiB(part.bytes), part.name, part.formula),
                   kScreen) +
        "\n";
  }
  return text;
}

}  // namespace

std::string ValidationText(const Validation& validation, const RenderOptions& options) {
  const Group all = Summarize(validation.rows);
  std::string text = fmt::format("{} record{}, {} predicted, {} refused\n", all.rows,
                                 all.rows == 1 ? "" : "s", all.rows - all.refused, all.refused);
  const GroupBy by = options.by.value_or(GroupBy::kSource);
  std::vector<Group> groups = Summarize(validation.rows, by);
  groups.push_back(all);
  if (all.errors.count > 0 || all.time.count == 0) {
    text += GroupTable(groups, by, "memory", &Group::errors);
    text += OutcomeText(all.outcomes);
  }
  if (all.time.count > 0) text += GroupTable(groups, by, "step seconds", &Group::time);
  text += ReportText(ScoreReports(validation.rows));
  text += ReasonText(Reasons(validation.rows));
  for (const std::size_t row : Worst(validation.rows, options.worst)) {
    text += WorstText(validation.rows[row]);
  }
  for (const std::size_t row : WorstOfTime(validation.rows, options.worst)) {
    text += WorstTimeText(validation.rows[row]);
  }
  return text;
}

}  // namespace trainfit::validate
