#include "report/layout.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace trainfit::report {
namespace {

constexpr int kGap = 2;             // between columns
constexpr int kNarrowestText = 20;  // of a paragraph

// Bytes of the longest beginning of `text` that is at most `columns` wide; at least one letter.
std::size_t Head(std::string_view text, int columns) {
  int width = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t next = at + DecodeUtf8(text, at).length;
    width += DisplayWidth(text.substr(at, next - at));
    if (width > columns && at > 0) break;
    at = next;
  }
  return at;
}

// `text` filled up to `columns`; nothing behind the last column of a line.
std::string Padded(const Cell& cell, int columns, Align align, const Style& style) {
  const std::string padding(std::max(0, columns - DisplayWidth(cell.text)), ' ');
  const std::string shown = style(cell.tone, cell.text);
  return align == Align::kRight ? padding + shown : shown + padding;
}

void TrimRight(std::string* line) { line->erase(line->find_last_not_of(' ') + 1); }

}  // namespace

std::vector<std::string> Wrap(std::string_view raw, int width) {
  const std::string text = Printable(raw);
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    while (DisplayWidth(word) > width) {
      const std::size_t head = Head(word, width);
      lines.emplace_back(word.substr(0, head));
      word.remove_prefix(head);
    }
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string Paragraph(std::string_view label, std::string_view text, int indent, int width,
                      const Style& style, Tone tone) {
  std::string out;
  std::string before(label);
  before.append(std::max(0, indent - DisplayWidth(label)), ' ');
  if (!label.empty()) before = style(Tone::kDim, before);
  for (const std::string& line : Wrap(text, std::max(kNarrowestText, width - indent))) {
    out += before + style(tone, line);
    TrimRight(&out);
    out += '\n';
    before = std::string(indent, ' ');
  }
  return out;
}

void Table::Row(std::vector<Cell> cells) {
  CHECK(cells.size() == columns_.size()) << "a row has as many cells as the table has columns";
  for (Cell& cell : cells) cell.text = Printable(cell.text);
  rows_.push_back({std::move(cells), ""});
}

void Table::Note(std::string text) { rows_.push_back({{}, std::move(text)}); }

std::vector<int> Table::NaturalWidths() const {
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int widest = DisplayWidth(columns_[i].title);
    for (const Line& row : rows_) {
      if (!row.cells.empty()) widest = std::max(widest, DisplayWidth(row.cells[i].text));
    }
    widths.push_back(widest);
  }
  return widths;
}

int Table::NarrowestWidth() const {
  const std::vector<int> natural = NaturalWidths();
  int total = indent_ - kGap;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const int narrowest = columns_[i].narrowest;
    total += kGap + (narrowest > 0 ? std::min(narrowest, natural[i]) : natural[i]);
  }
  return total;
}

std::vector<int> Table::Widths(int width) const {
  std::vector<int> widths = NaturalWidths();
  int total = indent_ - kGap;
  for (const int natural : widths) total += natural + kGap;
  for (; total > width; --total) {
    int* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].narrowest == 0 || widths[i] <= columns_[i].narrowest) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string Table::RowText(const std::vector<Cell>& cells, const std::vector<int>& widths,
                           const Style& style) const {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_wide = columns_[i].narrowest > 0 && DisplayWidth(cells[i].text) > widths[i];
    wrapped.push_back(is_wide ? Wrap(cells[i].text, widths[i])
                              : std::vector<std::string>{cells[i].text});
    height = std::max(height, wrapped.back().size());
  }
  std::string out;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line(indent_, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      const Cell piece{y < wrapped[i].size() ? wrapped[i][y] : "", cells[i].tone};
      line += Padded(piece, widths[i], columns_[i].align, style);
    }
    TrimRight(&line);
    out += line + '\n';
  }
  return out;
}

std::string Table::Text(int width, const Style& style) const {
  const std::vector<int> widths = Widths(width);
  std::string out;
  std::vector<Cell> titles;
  bool has_title = false;
  for (const Column& column : columns_) {
    titles.push_back({column.title, Tone::kDim});
    has_title = has_title || !column.title.empty();
  }
  if (has_title) out += RowText(titles, widths, style);
  for (const Line& row : rows_) {
    if (row.cells.empty()) {
      out += Paragraph("", row.note, indent_ + 2 * kGap, width, style, Tone::kDim);
    } else {
      out += RowText(row.cells, widths, style);
    }
  }
  return out;
}

}  // namespace trainfit::report
