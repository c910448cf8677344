#include "report/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/date.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace trainfit::report {
namespace {

bool IsNumber(const ListValue& value) {
  return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
}

// Numbers stand to the right; a column of unknowns alone as well.
Align AlignOf(const Listing& listing, std::size_t column) {
  const auto is_word = [&](const ListRow& row) {
    const ListValue& value = row.values[column];
    return !IsNumber(value) && !std::holds_alternative<std::monostate>(value);
  };
  return std::any_of(listing.rows.begin(), listing.rows.end(), is_word) ? Align::kLeft
                                                                        : Align::kRight;
}

bool ShowsOldPrice(const Listing& listing) {
  const bool has_price = std::any_of(listing.shown.begin(), listing.shown.end(),
                                     [&](std::size_t i) { return listing.columns[i].is_price; });
  return has_price && std::any_of(listing.rows.begin(), listing.rows.end(),
                                  [](const ListRow& row) { return row.is_price_old; });
}

// A price carries '*' when it is old, and a space when only others are, so that digits line up.
std::string CellText(const Listing& listing, const ListRow& row, std::size_t i, bool has_old) {
  std::string text = ListText(listing.columns[i], row.values[i]);
  if (!listing.columns[i].is_price || !has_old) return text;
  const bool is_old = row.is_price_old && IsNumber(row.values[i]);
  return text + (is_old ? "*" : " ");
}

std::vector<std::size_t> Written(const Listing& listing) {
  if (listing.is_shown_chosen) return listing.shown;
  std::vector<std::size_t> all(listing.columns.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::string CsvField(const ListValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* count = std::get_if<std::int64_t>(&value)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  const std::string& text = std::get<std::string>(value);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

void WriteListValue(const ListValue& value, JsonWriter* json) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    json->Bool(*flag);
  } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
    json->Int(*count);
  } else if (const auto* number = std::get_if<double>(&value)) {
    json->Double(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    json->String(*text);
  } else {
    json->Null();
  }
}

std::string ListText(const ListColumn& column, const ListValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* count = std::get_if<std::int64_t>(&value)) return WithCommas(*count);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) {
    const std::string plain = column.digits < 0 ? fmt::format("{}", *number)
                                                : fmt::format("{:.{}f}", *number, column.digits);
    return Grouped(plain);
  }
  return "?";
}

namespace {

Table TableOf(const Listing& listing, bool has_old) {
  constexpr int kNarrowestWords = 12;
  std::vector<Column> columns;
  for (const std::size_t i : listing.shown) {
    const Align align = AlignOf(listing, i);
    const ListColumn& column = listing.columns[i];
    // The first column is the name, which is to be copied whole.
    const bool may_wrap = align == Align::kLeft && !columns.empty();
    columns.push_back({column.title + (column.is_price && has_old ? " " : ""), align,
                       may_wrap ? kNarrowestWords : 0});
  }
  Table table(0, columns);
  for (const ListRow& row : listing.rows) {
    std::vector<Cell> cells;
    for (const std::size_t i : listing.shown) {
      const bool is_unknown = std::holds_alternative<std::monostate>(row.values[i]);
      cells.push_back({CellText(listing, row, i, has_old), is_unknown ? Tone::kDim : Tone::kPlain});
    }
    table.Row(cells);
  }
  return table;
}

// What the titles mean, and how old the prices are.
std::string Legend(const Listing& listing, bool has_old, const TextOptions& options,
                   const Style& style) {
  if (listing.rows.empty()) return "";
  std::string legend;
  for (const std::size_t i : listing.shown) {
    const ListColumn& column = listing.columns[i];
    if (column.about.empty()) continue;
    legend += (legend.empty() ? "" : "; ") + column.title + ": " + column.about;
  }
  std::string text;
  if (!legend.empty()) text += Paragraph("", legend, 2, options.width, style, Tone::kDim);
  if (has_old) {
    text += Paragraph("", fmt::format("*: price older than {} days", kStalePriceDays), 2,
                      options.width, style, Tone::kWarn);
  }
  return text;
}

}  // namespace

std::string ListingText(const Listing& all, const TextOptions& options) {
  const Style style(options.color);
  Listing listing = all;
  // A screen that is too narrow shows fewer columns, unless the user named them.
  while (!listing.is_shown_chosen && listing.shown.size() > 2 &&
         TableOf(listing, ShowsOldPrice(listing)).NarrowestWidth() > options.width) {
    listing.shown.pop_back();
  }
  const bool has_old = ShowsOldPrice(listing);
  std::string text;
  if (!listing.rows.empty()) {
    text = TableOf(listing, has_old).Text(options.width, style) + "\n";
  }
  text += fmt::format("{} of {} {}\n", WithCommas(static_cast<std::int64_t>(listing.rows.size())),
                      WithCommas(static_cast<std::int64_t>(listing.known)), listing.things);
  text += Legend(listing, has_old, options, style);
  for (const std::string& note : listing.notes) {
    text += Paragraph("", note, 2, options.width, style);
  }
  return options.unicode ? text : ToAscii(text);
}

std::string ListingJson(const Listing& listing) {
  const std::vector<std::size_t> written = Written(listing);
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", listing.schema);
  json.Key("rows").BeginArray();
  for (const ListRow& row : listing.rows) {
    json.BeginObject();
    for (const std::size_t i : written) {
      json.Key(listing.columns[i].key);
      WriteListValue(row.values[i], &json);
    }
    json.EndObject();
  }
  json.EndArray();
  json.Key("notes").BeginArray();
  for (const std::string& note : listing.notes) json.String(note);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string ListingCsv(const Listing& listing) {
  const std::vector<std::size_t> written = Written(listing);
  std::string text;
  const auto line = [&](auto field) {
    bool is_first = true;
    for (const std::size_t i : written) {
      text += (is_first ? "" : ",") + field(i);
      is_first = false;
    }
    text += "\n";
  };
  line([&](std::size_t i) { return listing.columns[i].key; });
  for (const ListRow& row : listing.rows) {
    line([&](std::size_t i) { return CsvField(row.values[i]); });
  }
  return text;
}

}  // namespace trainfit::report
