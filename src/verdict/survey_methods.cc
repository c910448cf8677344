#include "verdict/survey_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "verdict/judge.h"

namespace trainfit::verdict {
namespace {

using spec::Method;
using spec::Optimizer;
using spec::Precision;

// The ways of training that people choose between.
struct MethodRow {
  const char* name;
  Method method;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
};
constexpr std::array<MethodRow, 5> kMethods = {{
    {"full, AdamW", Method::kFull, std::nullopt, std::nullopt},
    {"full, 8-bit AdamW", Method::kFull, std::nullopt, Optimizer::kAdamW8bit},
    {"full, pure bf16", Method::kFull, Precision::kBf16Pure, std::nullopt},
    {"LoRA", Method::kLora, std::nullopt, std::nullopt},
    {"QLoRA (4-bit)", Method::kQlora, std::nullopt, std::nullopt},
}};

constexpr std::array<std::int64_t, 8> kGpuCounts = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::int64_t kPerNode = 8;

Case CaseOf(const SurveyQuestion& question, const MethodRow& row, const spec::Gpu& gpu,
            std::int64_t gpus) {
  Case single;
  single.recipe = question.recipe;
  single.recipe.method = row.method;
  if (row.precision.has_value()) single.recipe.precision = row.precision;
  if (row.optimizer.has_value()) single.recipe.optimizer = row.optimizer;
  if (row.method == Method::kFull) single.recipe.lora.reset();
  single.recipe.sharding = gpus > 1 ? spec::Sharding::kFsdp2 : spec::Sharding::kNone;
  single.model = question.model;
  single.facts = question.facts;
  single.machine.gpu = gpu;
  single.machine.nodes = std::max<std::int64_t>(1, gpus / kPerNode);
  single.machine.gpus_per_node = std::min(gpus, kPerNode);
  return single;
}

// How often the offer must be taken for `gpus`. A machine is rented whole; of a row that is one GPU
// as many as are needed, rounded up to a number that is on sale, and above the largest in multiples
// of it.
std::int64_t TimesTaken(const spec::Offer& offer, std::int64_t gpus) {
  const std::int64_t needed = CeilDiv(gpus, offer.gpus);
  if (offer.sizes.empty()) return needed;
  const std::int64_t largest = *std::max_element(offer.sizes.begin(), offer.sizes.end());
  std::int64_t taken = RoundUp(needed, largest);
  for (const std::int64_t size : offer.sizes) {
    if (size >= needed) taken = std::min(taken, size);
  }
  return taken;
}

// What the offer costs for `gpus`.
std::optional<DollarsPerSecond> PriceOf(const spec::Offer& offer, std::int64_t gpus) {
  if (!offer.price.has_value() || offer.gpus <= 0) return std::nullopt;
  return *offer.price * static_cast<double>(TimesTaken(offer, gpus));
}

void AttachPrice(Holder& holder, const Candidate& candidate) {
  for (const spec::Offer& offer : candidate.offers) {
    const auto price = PriceOf(offer, holder.gpus);
    if (!price.has_value()) continue;
    if (!holder.price.has_value() || *price < *holder.price ||
        (*price == *holder.price && offer.id < holder.offer->id)) {
      holder.price = price;
      holder.offer = offer;
    }
  }
}

// The card with at least `gpus` of it, as many as the summary says are needed.
std::optional<Holder> FewestOf(const SurveyQuestion& question, const MethodRow& row,
                               const Candidate& candidate, std::int64_t at_least) {
  for (const std::int64_t gpus : kGpuCounts) {
    if (gpus < at_least) continue;
    const auto answer = JudgeQuickly(CaseOf(question, row, candidate.gpu, gpus));
    if (!answer.has_value()) return std::nullopt;  // the card cannot run it (no bf16)
    if (answer->fit != Fit::kFits) continue;
    Holder holder;
    holder.gpu = candidate.gpu;
    holder.gpus = gpus;
    holder.fit = answer->fit;
    holder.per_gpu = answer->gpu;
    AttachPrice(holder, candidate);
    return holder;
  }
  return std::nullopt;
}

// Fewest cards, then the smallest card, then the lower price, then the name.
bool IsSmaller(const Holder& a, const Holder& b) {
  if (a.gpus != b.gpus) return a.gpus < b.gpus;
  if (a.gpu.memory_usable != b.gpu.memory_usable) {
    return a.gpu.memory_usable < b.gpu.memory_usable;
  }
  if (a.price.has_value() != b.price.has_value()) return a.price.has_value();
  if (a.price.has_value() && *a.price != *b.price) return *a.price < *b.price;
  return a.gpu.id < b.gpu.id;
}

bool IsCheaper(const Holder& a, const Holder& b) {
  if (*a.price != *b.price) return *a.price < *b.price;
  return IsSmaller(a, b);
}

// A way to hold the method with the candidate it came from.
struct Option {
  Holder holder;
  const Candidate* candidate = nullptr;
};
using Before = bool (*)(const Holder&, const Holder&);

// The first option by `before` that a full judgement confirms; one that it does not takes more
// cards.
std::optional<Holder> FirstConfirmed(const SurveyQuestion& question, const MethodRow& row,
                                     std::vector<Option> options, Before before) {
  constexpr int kTries = 40;
  for (int i = 0; i < kTries && !options.empty(); ++i) {
    const auto best = std::min_element(
        options.begin(), options.end(),
        [&](const Option& a, const Option& b) { return before(a.holder, b.holder); });
    const auto answer = Judge(CaseOf(question, row, best->holder.gpu, best->holder.gpus));
    if (answer.has_value() && answer->fit == Fit::kFits) {
      best->holder.per_gpu = HighestGpu(*answer).bytes;
      return best->holder;
    }
    const auto more = FewestOf(question, row, *best->candidate, best->holder.gpus + 1);
    if (more.has_value()) {
      best->holder = *more;
    } else {
      options.erase(best);
    }
  }
  return std::nullopt;
}

// One node if one node holds it: cards of several nodes wait for their network, which a price an
// hour does not show.
void PreferOneNode(std::vector<Option>& options) {
  const auto is_one_node = [](const Option& o) { return o.holder.gpus <= kPerNode; };
  if (std::none_of(options.begin(), options.end(), is_one_node)) return;
  std::erase_if(options, [&](const Option& o) { return !is_one_node(o); });
}

Expected<SurveyRow> SurveyRowOf(const SurveyQuestion& question, const MethodRow& row) {
  // Memory is stated for one large card, so that it does not depend on what happens to fit.
  const auto largest =
      std::max_element(question.candidates.begin(), question.candidates.end(),
                       [](const Candidate& a, const Candidate& b) {
                         return std::pair(a.gpu.supports_bf16, a.gpu.memory_usable) <
                                std::pair(b.gpu.supports_bf16, b.gpu.memory_usable);
                       });
  ASSIGN_OR_RETURN(Answer answer, Judge(CaseOf(question, row, largest->gpu, 1)));
  SurveyRow result;
  result.name = row.name;
  const PlaceAnswer& gpu = HighestGpu(answer);
  result.one_gpu = gpu.bytes;
  result.parts = gpu.parts;
  result.trainable = plan::TrainableParameterCount(answer.plan);
  result.plan = std::move(answer.plan);
  std::vector<Option> options;
  std::vector<Option> priced;
  for (const Candidate& candidate : question.candidates) {
    const std::optional<Holder> holder = FewestOf(question, row, candidate, 1);
    if (!holder.has_value()) continue;
    options.push_back({*holder, &candidate});
    if (holder->price.has_value()) priced.push_back({*holder, &candidate});
  }
  PreferOneNode(options);
  PreferOneNode(priced);
  result.smallest = FirstConfirmed(question, row, std::move(options), IsSmaller);
  result.cheapest = FirstConfirmed(question, row, std::move(priced), IsCheaper);
  return result;
}

// Every assumption once; those that not all methods share say whose they are.
std::vector<plan::Assumption> AssumptionsOf(const std::vector<SurveyRow>& rows) {
  std::vector<plan::Assumption> assumptions;
  std::vector<std::vector<std::string>> holders;  // by assumption: the methods that make it
  for (const SurveyRow& row : rows) {
    for (const plan::Assumption& assumption : row.plan.assumptions) {
      const auto at = std::find(assumptions.begin(), assumptions.end(), assumption);
      if (at == assumptions.end()) {
        assumptions.push_back(assumption);
        holders.push_back({row.name});
      } else {
        holders[static_cast<std::size_t>(at - assumptions.begin())].push_back(row.name);
      }
    }
  }
  for (std::size_t i = 0; i < assumptions.size(); ++i) {
    std::vector<std::string> others;
    for (const SurveyRow& row : rows) {
      if (std::find(holders[i].begin(), holders[i].end(), row.name) == holders[i].end()) {
        others.push_back(row.name);
      }
    }
    if (others.empty()) continue;
    const bool is_rule = others.size() < holders[i].size();
    assumptions[i].what += fmt::format(" ({}{})", is_rule ? "not " : "",
                                       fmt::join(is_rule ? others : holders[i], "; "));
  }
  return assumptions;
}

}  // namespace

Expected<Survey> SurveyMethods(const SurveyQuestion& question) {
  Survey survey;
  for (const MethodRow& row : kMethods) {
    ASSIGN_OR_RETURN(SurveyRow result, SurveyRowOf(question, row));
    survey.rows.push_back(std::move(result));
  }
  survey.assumptions = AssumptionsOf(survey.rows);
  for (const SurveyRow& row : survey.rows) {
    for (const Diagnostic& warning : row.plan.warnings) {
      const bool is_new = std::find(survey.warnings.begin(), survey.warnings.end(),
                                    warning.message) == survey.warnings.end();
      if (is_new) survey.warnings.push_back(warning.message);
    }
  }
  return survey;
}

}  // namespace trainfit::verdict
