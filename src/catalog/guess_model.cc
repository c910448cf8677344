// Models by what their names say: the base of a tuned model, a usual shape for a size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/embedded.h"
#include "catalog/model_words.h"

namespace trainfit::catalog {
namespace {

// Of the best known name so far.
struct Best {
  int likeness = -1;
  double distance = 0;  // of the sizes, as a ratio's logarithm
  std::string name;
};

double Distance(const ModelWords& name, const ModelWords& known) {
  double most = 0;
  for (const double size : name.billions) {
    double least = std::abs(std::log(size / known.billions[0]));
    for (const double other : known.billions) {
      least = std::min(least, std::abs(std::log(size / other)));
    }
    most = std::max(most, least);
  }
  return most;
}

void Consider(const ModelWords& name, std::string_view known_name, Best* best) {
  const ModelWords known = SplitModelName(known_name);
  // A family without a size is too little, and a size without a family means only a size.
  if (known.billions.empty() && known.words.size() < 2) return;
  if (known.words.empty() && !IsBareSize(name)) return;
  const auto likeness = Likeness(name, known);
  if (!likeness) return;
  const double distance = Distance(name, known);
  if (*likeness < best->likeness) return;
  if (*likeness == best->likeness && distance >= best->distance) return;
  *best = {*likeness, distance, std::string(known_name)};
}

}  // namespace

Expected<Match<ModelRecord>> Catalog::GuessModel(std::string_view name) const {
  const Renamed named = NameTheBase(SplitModelName(name));
  Best best;
  for (const std::string& id : Ids(Kind::kModel)) Consider(named.words, id, &best);
  const EmbeddedData& data = Embedded();
  for (const EmbeddedSharedName& shared : data.Of(Kind::kModel).shared) {
    Consider(named.words, data.Text(shared.shown), &best);
  }
  if (best.likeness < 0) return FindModel(name);  // which says that there is none
  ASSIGN_OR_RETURN(Match<ModelRecord> match, FindModel(best.name));
  std::string why = named.replaced.empty() ? "by the words of its name" : named.replaced;
  if (IsBareSize(named.words)) why = "a usual shape of this size";
  match.is_same_shape = false;
  match.assumptions.insert(match.assumptions.begin(),
                           fmt::format("{} is no name in the catalogue: taken as {} ({})",
                                       Quoted(name), match.record.id, why));
  return match;
}

}  // namespace trainfit::catalog
