#include "api/list_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/nearest_word.h"
#include "base/numeral.h"
#include "base/text.h"

namespace trainfit::api {
namespace {

using report::ListColumn;
using report::Listing;
using report::ListRow;
using report::ListValue;

// Letters and digits in small letters: "RTX 4090" and "rtx-4090" are the same. Line breaks stay:
// they part the names of one row.
std::string Bare(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      bare += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '\n' ||
               (c & 0x80) != 0) {
      bare += c;
    }
  }
  return bare;
}

std::string KeyForm(std::string_view text) {
  std::string key(text);
  for (char& c : key) {
    if (c == '-' || c == ' ') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

std::optional<std::size_t> FindColumn(const Listing& listing, std::string_view key) {
  const std::string wanted = KeyForm(key);
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    if (listing.columns[i].key == wanted) return i;
  }
  return std::nullopt;
}

Diagnostic UnknownColumn(const Listing& listing, std::string_view key) {
  std::vector<std::string> keys;
  std::string all;
  for (const ListColumn& column : listing.columns) {
    keys.push_back(column.key);
    all += (all.empty() ? "" : ", ") + column.key;
  }
  Diagnostic error = Error("unknown-column", fmt::format("no column is called {}", Quoted(key)),
                           NearestWord(KeyForm(key), keys));
  error.notes.push_back("columns: " + all);
  return error;
}

std::optional<double> NumberOf(const ListValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

constexpr std::array<std::string_view, 6> kOperators = {"<=", ">=", "!=", "<", ">", "="};

struct Comparison {
  std::string_view key;
  std::string_view op;
  std::string_view value;
};

std::optional<Comparison> Split(std::string_view filter) {
  const std::size_t at = filter.find_first_of("<>=!");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  for (const std::string_view op : kOperators) {
    if (!filter.substr(at).starts_with(op)) continue;
    return Comparison{filter.substr(0, at), op, filter.substr(at + op.size())};
  }
  return std::nullopt;
}

bool Holds(double left, std::string_view op, double right) {
  if (op == "<=") return left <= right;
  if (op == ">=") return left >= right;
  if (op == "<") return left < right;
  if (op == ">") return left > right;
  return (left == right) == (op == "=");
}

// What is not known matches no comparison.
bool Matches(const ListColumn& column, const ListValue& value, const Comparison& wanted) {
  if (std::holds_alternative<std::monostate>(value)) return false;
  if (const std::optional<double> number = NumberOf(value)) {
    return Holds(*number, wanted.op, *ParseDecimal(wanted.value));
  }
  const bool is_same = Bare(report::ListText(column, value)) == Bare(wanted.value);
  return is_same == (wanted.op == "=");
}

// The column compares as numbers when one of its values is one.
std::optional<Diagnostic> CheckComparison(const Listing& listing, std::size_t column,
                                          const Comparison& wanted) {
  const std::string& key = listing.columns[column].key;
  bool is_number = false;
  for (const ListRow& row : listing.rows) {
    is_number = is_number || NumberOf(row.values[column]).has_value();
  }
  if (is_number && !ParseDecimal(wanted.value)) {
    return Error("not-a-number", fmt::format("{} is compared with a number, not with {}", key,
                                             Quoted(wanted.value)));
  }
  if (!is_number && wanted.op != "=" && wanted.op != "!=") {
    return Error("not-a-number", fmt::format("{} is a word, which has no order", key),
                 fmt::format("{}={}", key, wanted.value));
  }
  return std::nullopt;
}

// -1, 0, 1; words by letters, numbers by size.
int Order(const ListValue& a, const ListValue& b) {
  const std::optional<double> x = NumberOf(a);
  const std::optional<double> y = NumberOf(b);
  if (x && y) return *x < *y ? -1 : (*y < *x ? 1 : 0);
  return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

bool IsComparison(std::string_view filter) { return Split(filter).has_value(); }

Diagnostics KeepMatching(const std::vector<std::string>& filters,
                         const std::vector<std::string>& words, Listing* listing) {
  std::vector<bool> kept(listing->rows.size(), true);
  for (const std::string& filter : filters) {
    const std::optional<Comparison> wanted = Split(filter);
    std::size_t column = 0;
    if (wanted) {
      const std::optional<std::size_t> found = FindColumn(*listing, wanted->key);
      if (!found) return {UnknownColumn(*listing, wanted->key)};
      column = *found;
      if (auto error = CheckComparison(*listing, column, *wanted)) return {*std::move(error)};
    }
    const std::string bare = Bare(filter);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const bool matches =
          wanted ? Matches(listing->columns[column], listing->rows[i].values[column], *wanted)
                 : Bare(words[i]).find(bare) != std::string::npos;
      kept[i] = kept[i] && matches;
    }
  }
  std::vector<ListRow> rows;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) rows.push_back(std::move(listing->rows[i]));
  }
  listing->rows = std::move(rows);
  return {};
}

Diagnostics SortBy(std::string_view sort, Listing* listing) {
  if (sort.empty()) return {};
  const bool is_down = sort.starts_with('-');
  if (is_down) sort.remove_prefix(1);
  const std::optional<std::size_t> column = FindColumn(*listing, sort);
  if (!column) return {UnknownColumn(*listing, sort)};
  std::stable_sort(listing->rows.begin(), listing->rows.end(),
                   [&](const ListRow& a, const ListRow& b) {
                     const ListValue& x = a.values[*column];
                     const ListValue& y = b.values[*column];
                     const bool x_unknown = std::holds_alternative<std::monostate>(x);
                     const bool y_unknown = std::holds_alternative<std::monostate>(y);
                     if (x_unknown || y_unknown) return !x_unknown && y_unknown;
                     return is_down ? Order(x, y) > 0 : Order(x, y) < 0;
                   });
  return {};
}

Diagnostics ShowColumns(const std::vector<std::string>& keys, Listing* listing) {
  if (keys.empty()) return {};
  std::vector<std::size_t> shown;
  for (const std::string& key : keys) {
    const std::optional<std::size_t> column = FindColumn(*listing, key);
    if (!column) return {UnknownColumn(*listing, key)};
    if (std::find(shown.begin(), shown.end(), *column) == shown.end()) shown.push_back(*column);
  }
  if (std::find(shown.begin(), shown.end(), std::size_t{0}) == shown.end()) {
    shown.insert(shown.begin(), 0);
  }
  listing->shown = std::move(shown);
  listing->is_shown_chosen = true;
  return {};
}

}  // namespace trainfit::api
