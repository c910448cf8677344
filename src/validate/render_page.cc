#include <fmt/format.h>

#include "validate/render.h"

namespace trainfit::validate {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Line(const Group& group) {
  std::string line = fmt::format("| {} | {} | {} ", group.name, group.rows, group.refused);
  const Errors& e = group.errors;
  if (e.count == 0) return line + "| 0 | | | | | | | |\n";
  return line + fmt::format("| {} | {} | {} | {} | {} | {} | {:.0f} % | {} |\n", e.count,
                            Percent(e.median), Percent(e.mean), Percent(e.p90), Percent(e.max),
                            Percent(e.bias), 100 * e.in_range, Percent(e.median_width));
}

std::string Table(const Validation& validation, GroupBy by) {
  std::string text = fmt::format(
      "\n## By {}\n\n| {} | records | refused | compared | median | mean | 90th percentile | worst "
      "| bias | inside the range | width of the range |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      Name(by), Name(by));
  for (const Group& group : Summarize(validation.rows, by)) text += Line(group);
  if (by != GroupBy::kMeaning) text += Line(Summarize(validation.rows));
  return text;
}

std::string Verdicts(const Outcomes& o) {
  std::string text =
      "\n## Verdicts\n\n| what happened | runs | said so | said tight | said the opposite |\n"
      "| --- | --- | --- | --- | --- |\n";
  text += fmt::format("| ran | {} | {} | {} | {} |\n", o.fits,
                      o.fits - o.fits_tight - o.fits_refuted, o.fits_tight, o.fits_refuted);
  text += fmt::format("| ran out of memory | {} | {} | {} | {} |\n", o.oom,
                      o.oom - o.oom_tight - o.oom_missed, o.oom_tight, o.oom_missed);
  return text;
}

std::string Refusals(const Validation& validation) {
  std::string text = "\n## What is refused\n\n| reason | records |\n| --- | --- |\n";
  for (const Reason& reason : Reasons(validation.rows)) {
    text += fmt::format("| {} | {} |\n", reason.text, reason.rows);
  }
  return text;
}

}  // namespace

std::string AccuracyPage(const Validation& validation) {
  std::string files;
  for (const std::string& file : validation.files) files += " " + file;
  std::string text =
      "# How near the predictions come\n\n"
      "Written by `trainfit validate" +
      files +
      " --write-accuracy docs/accuracy.md`; do not edit.\n\n"
      "Each record is a published run: its settings go in, its measured memory is looked at only\n"
      "for this comparison. An error is (predicted - measured) / measured, of the reading that "
      "the\n"
      "source gives: PyTorch's allocated or reserved bytes, or nvidia-smi; where a source does "
      "not\n"
      "say which, nvidia-smi is taken, since that is what people copy. Median, mean and 90th\n"
      "percentile are of absolute errors (quantiles interpolated), the bias is signed. The range "
      "is\n"
      "the stated 90 % range. By meaning, a record counts once for each reading that it gives.\n"
      "Where batches vary in length, the longest length there can be is predicted.\n";
  text += Table(validation, GroupBy::kSource);
  text += Table(validation, GroupBy::kQuality);
  text += Table(validation, GroupBy::kMethod);
  text += Table(validation, GroupBy::kGpu);
  text += Table(validation, GroupBy::kMeaning);
  text += Verdicts(Summarize(validation.rows).outcomes);
  text += Refusals(validation);
  return text;
}

}  // namespace trainfit::validate
