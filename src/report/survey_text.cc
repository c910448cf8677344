#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/describe.h"
#include "report/fit_sections.h"
#include "report/layout.h"
#include "report/numbers.h"
#include "report/survey.h"
#include "spec/model.h"
#include "spec/recipe.h"

namespace trainfit::report {
namespace {

using verdict::Holder;
using verdict::Survey;
using verdict::SurveyRow;

constexpr int kIndent = 2;
constexpr int kLabel = 10;

// As --on takes it: "rtx-4090", "4xa100-sxm-80"; from two machines of eight cards on
// "2x8xh100-sxm".
std::string HolderName(const Holder& holder) {
  constexpr std::int64_t kPerNode = 8;
  std::string count;
  if (holder.gpus > kPerNode && holder.gpus % kPerNode == 0) {
    count = std::to_string(holder.gpus / kPerNode) + "x" + std::to_string(kPerNode) + "x";
  } else if (holder.gpus > 1) {
    count = std::to_string(holder.gpus) + "x";
  }
  return count + holder.gpu.id;
}

bool IsStale(const Holder& holder, const TextOptions& options) {
  return holder.price && holder.offer && IsStalePrice(holder.offer->price_date, options.today);
}

// The name and the price; a tight fit carries '~', an old price '*'.
std::pair<Cell, Cell> HolderCells(const std::optional<Holder>& holder, const TextOptions& options) {
  if (!holder) return {{"none known", Tone::kDim}, {"", Tone::kDim}};
  const bool is_tight = holder->fit == verdict::Fit::kTight;
  Cell name{HolderName(*holder) + (is_tight ? "~" : ""),
            is_tight ? FitTone(holder->fit) : Tone::kPlain};
  Cell price{holder->price ? PerHourColumn(*holder->price) : "?"};
  price.text += IsStale(*holder, options) ? "*" : " ";
  return {name, price};
}

std::string Header(const Survey& survey, int width, const Style& style) {
  const plan::Plan& plan = survey.rows.front().plan;
  std::string text = style(Tone::kStrong, ModelText(*plan.model)) + "\n";
  const std::string sentence = "Memory on one card at " + BatchText(plan) +
                               ", and the least hardware that holds it (several cards: fully "
                               "sharded).";
  return text + Paragraph("", sentence, 0, width, style);
}

// What a screen has room for besides method, memory and hardware.
struct Columns {
  bool range = true;
  bool trained = true;
  int method = 12;  // narrowest columns
  int hardware = 14;
};

Table RowTable(const Survey& survey, Columns shown, const TextOptions& options) {
  std::vector<Column> columns = {{"method", Align::kLeft, shown.method},
                                 {shown.range ? "GiB (90 %)" : "GiB", Align::kRight}};
  if (shown.trained) columns.push_back({"trained", Align::kRight});
  for (const char* title : {"smallest", "cheapest"}) {
    columns.push_back({title, Align::kLeft, shown.hardware});
    columns.push_back({"$/h ", Align::kRight});
  }
  Table table(0, columns);
  for (const SurveyRow& row : survey.rows) {
    const verdict::Estimate& need = row.one_gpu;
    std::vector<Cell> cells = {
        {row.name, Tone::kStrong},
        {shown.range ? GiBEstimate(need.point, need.low, need.high) : GiBColumn(need.point)}};
    if (shown.trained) cells.push_back({ShortCount(row.trainable)});
    for (const std::optional<Holder>* holder : {&row.smallest, &row.cheapest}) {
      auto [name, price] = HolderCells(*holder, options);
      cells.push_back(name);
      cells.push_back(price);
    }
    table.Row(cells);
    if (!options.explain) continue;
    for (const verdict::PartBytes& part : row.parts) {
      table.Note(GiB(part.bytes) + " " + part.name + " = " + part.formula + " [" +
                 BasisText(part.basis, part.source) + "]");
    }
  }
  return table;
}

std::string Rows(const Survey& survey, const TextOptions& options, const Style& style) {
  constexpr Columns kNarrowest{.range = false, .trained = false, .method = 8, .hardware = 10};
  constexpr Columns kTries[] = {{}, {.trained = false}, {.range = false, .trained = false}};
  for (const Columns& shown : kTries) {
    const Table table = RowTable(survey, shown, options);
    if (table.NarrowestWidth() <= options.width) return table.Text(options.width, style);
  }
  return RowTable(survey, kNarrowest, options).Text(options.width, style);
}

// Offers of one provider, tier and day, with the cards priced by them.
struct PriceGroup {
  std::string title;  // "RunPod community, 2026-11-09"
  bool is_stale = false;
  std::vector<std::string> gpus;
};

// Where every price comes from, in the order of the rows.
std::vector<PriceGroup> PriceGroups(const Survey& survey, const TextOptions& options) {
  std::vector<PriceGroup> groups;
  const auto add = [&](const std::optional<Holder>& holder) {
    if (!holder || !holder->offer || !holder->price) return;
    const spec::Offer& offer = *holder->offer;
    std::string title = offer.provider.empty() ? offer.id : offer.provider + " " + offer.tier;
    title += ", " + (offer.price_date.empty() ? "undated" : offer.price_date);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const PriceGroup& known) { return known.title == title; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {title, IsStale(*holder, options), {}});
    }
    std::vector<std::string>& gpus = group->gpus;
    if (std::find(gpus.begin(), gpus.end(), holder->gpu.id) == gpus.end()) {
      gpus.push_back(holder->gpu.id);
    }
  };
  for (const SurveyRow& row : survey.rows) {
    add(row.smallest);
    add(row.cheapest);
  }
  return groups;
}

std::string Footnotes(const Survey& survey, const TextOptions& options, const Style& style) {
  bool is_any_tight = false;
  for (const SurveyRow& row : survey.rows) {
    for (const std::optional<Holder>* holder : {&row.smallest, &row.cheapest}) {
      is_any_tight = is_any_tight || (*holder && (*holder)->fit == verdict::Fit::kTight);
    }
  }
  std::string text;
  const auto line = [&](std::string_view label, const std::string& words) {
    text += Paragraph(std::string(kIndent, ' ') + std::string(label), words, kIndent + kLabel,
                      options.width, style);
  };
  if (is_any_tight) line("~", "tight: the range reaches above what the card has");
  std::string prices;
  bool is_any_stale = false;
  for (const PriceGroup& group : PriceGroups(survey, options)) {
    if (!prices.empty()) prices += "; ";
    prices += group.title + (group.is_stale ? "*: " : ": ") + Joined(group.gpus);
    is_any_stale = is_any_stale || group.is_stale;
  }
  if (!prices.empty()) line("prices", prices);
  if (is_any_stale) {
    line("*", "price older than " + std::to_string(kStalePriceDays) + " days, or undated");
  }
  line("stack", survey.rows.front().plan.facts.stack().Text());
  return text;
}

// The case that most people look at next: what can be had for the least money.
const SurveyRow* CheapestRow(const Survey& survey) {
  const SurveyRow* best = nullptr;
  for (const SurveyRow& row : survey.rows) {
    if (!row.cheapest || !row.cheapest->price) continue;
    if (best == nullptr || *row.cheapest->price < *best->cheapest->price) best = &row;
  }
  return best;
}

// The command that shows one row on one piece of hardware in depth.
std::string FitCommand(const Survey& survey, const SurveyRow& row, const Holder& holder,
                       const TextOptions& options) {
  std::string command = options.program + " fit " + row.plan.model->id;
  command += " --method " + std::string(spec::Name(row.plan.method));
  // What tells the row from the first of its method.
  const auto usual = std::find_if(survey.rows.begin(), survey.rows.end(), [&](const auto& other) {
    return other.plan.method == row.plan.method;
  });
  if (row.plan.optimizer != usual->plan.optimizer) {
    command += " --optimizer " + std::string(spec::Name(row.plan.optimizer));
  }
  if (row.plan.precision != usual->plan.precision) {
    command += " --precision " + std::string(spec::Name(row.plan.precision));
  }
  command += " --on " + HolderName(holder);
  if (holder.gpus > 1) command += " --sharding fsdp2";
  if (!options.typed_options.empty()) command += " " + options.typed_options;
  return command;
}

// Two cases: the cheapest, and the first method that is another one.
std::string NextCommands(const Survey& survey, const TextOptions& options, const Style& style) {
  std::string text;
  const auto add = [&](const SurveyRow& row, const Holder& holder) {
    text += std::string(kIndent, ' ') + FitCommand(survey, row, holder, options) + "\n";
  };
  const SurveyRow* cheapest = CheapestRow(survey);
  if (cheapest != nullptr) add(*cheapest, *cheapest->cheapest);
  for (const SurveyRow& row : survey.rows) {
    if (!row.smallest || (cheapest != nullptr && row.plan.method == cheapest->plan.method))
      continue;
    add(row, *row.smallest);
    break;
  }
  if (text.empty()) return "";
  return "\n" + style(Tone::kStrong, "Next, in depth (other sizes: --micro-batch, --seq-len)") +
         "\n" + text;
}

}  // namespace

std::string SurveyText(const Survey& survey, const TextOptions& options) {
  const Style style(options.color);
  if (survey.rows.empty()) return "No method of training could be evaluated.\n";
  std::string text = Header(survey, options.width, style);
  text += WarningsSection(survey.warnings, options.width, style);
  text += "\n" + Rows(survey, options, style);
  text += "\n" + Footnotes(survey, options, style);
  text += AssumptionsSection(survey.assumptions, options, style);
  text += NextCommands(survey, options, style);
  return options.unicode ? text : ToAscii(text);
}

}  // namespace trainfit::report
